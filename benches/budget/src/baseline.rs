//! `baseline.tsv`: what calls and messages cost when that was last accepted; comparing with it, and writing it.
//!
//! It may rise only for a reason: a row that has risen names a line of CHANGELOG.md, `(budget: KEY)`. That works in any clone, whatever of
//! the history is in it; and the sum in the last line shows an edit by hand, which would go round it.

use std::{
    fmt::{self, Write},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// More than this above the baseline is too much.
const MOST: f64 = 0.03;
/// Less than this is chance, and no rise.
const NOISE: f64 = 0.003;
const HEAD: &str =
    "# What calls and messages cost. Written by `benches/budget/run --accept`, not by hand; benches/README.md says what it means.\n";
const COLUMNS: &str = "row\tinstructions\tof libraries\tallocations\treason";
const NO_REASON: &str = "-";
const ALLOCATIONS: &str = "allocations";

/// Of one row, for each call or message. `None`: instructions could not be counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    pub(crate) own: Option<f64>,
    pub(crate) library: Option<f64>,
    pub(crate) allocations: f64,
}

/// What the figures depend on, beside our code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Machine {
    rustc: String,
    host: String,
    libc: String,
}

#[derive(Debug)]
struct Line {
    row: String,
    figures: Figures,
    reason: String,
}

#[derive(Debug)]
pub(crate) struct Baseline {
    /// `None`: there is none yet.
    machine: Option<Machine>,
    lines: Vec<Line>,
}

/// One figure that is not what it was.
struct Change<'a> {
    row: &'a str,
    what: &'static str,
    was: f64,
    is: f64,
    /// What a part of it is a part of: of libraries' instructions, all instructions.
    whole: f64,
}

impl Change<'_> {
    fn above(&self, part: f64) -> bool {
        self.is - self.was > self.whole * part + self.digit()
    }

    fn below(&self, part: f64) -> bool {
        self.was - self.is > self.whole * part + self.digit()
    }

    /// Figures are rounded where they are written, and a few calls do not share an allocation evenly.
    fn digit(&self) -> f64 {
        if self.what == ALLOCATIONS { 0.01 } else { 0.1 }
    }
}

impl fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, what, was, is, .. } = self;
        write!(f, "{row}: {what} were {was:.3}, are {is:.3}")?;
        if *was > 0.0 { write!(f, " ({:+.1} %)", (is / was - 1.0) * 100.0) } else { Ok(()) }
    }
}

fn beside(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn reasoned(key: &str) -> Result<bool, String> {
    let changelog = fs::read_to_string(beside("../../CHANGELOG.md")).map_err(|error| format!("CHANGELOG.md: {error}"))?;
    Ok(changelog.contains(&format!("(budget: {key})")))
}

impl Machine {
    fn here() -> Result<Self, String> {
        let said = |program: &str, argument: &str| -> Option<String> {
            let output = Command::new(program).arg(argument).output().ok()?;
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let rustc = said("rustc", "-vV").ok_or("rustc does not start")?;
        let field = |name: &str| rustc.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown").trim().to_owned();
        let libc = said("getconf", "GNU_LIBC_VERSION").filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned());
        Ok(Self { rustc: field("rustc"), host: field("host:"), libc })
    }
}

impl Baseline {
    pub(crate) fn read() -> Result<Self, String> {
        match fs::read_to_string(beside("baseline.tsv")) {
            Ok(text) => Self::parse(&text).map_err(|why| format!("benches/budget/baseline.tsv: {why}")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self { machine: None, lines: Vec::new() }),
            Err(error) => Err(format!("benches/budget/baseline.tsv: {error}")),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let (body, sum) = text.trim_end().rsplit_once("\n# sum\t").ok_or("its last line is no sum")?;
        if sum != checksum(body) {
            return Err(
                "it was edited by hand, or merged. Take it as it was committed on one side, then `benches/budget/run --accept`".to_owned()
            );
        }
        let field = |name: &str| body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t')).unwrap_or_default().to_owned();
        let machine = Machine { rustc: field("# rustc"), host: field("# host"), libc: field("# libc") };
        let lines = body.lines().filter(|line| !line.starts_with('#') && *line != COLUMNS);
        let lines = lines.map(|line| Line::parse(line).ok_or_else(|| format!("not understood: {line}"))).collect::<Result<_, _>>()?;
        Ok(Self { machine: Some(machine), lines })
    }

    fn write(&self, machine: &Machine) -> Result<(), String> {
        let Machine { rustc, host, libc } = machine;
        let mut body = format!("{HEAD}# rustc\t{rustc}\n# host\t{host}\n# libc\t{libc}\n{COLUMNS}");
        for Line { row, figures, reason } in &self.lines {
            let [own, library] = [figures.own, figures.library].map(Option::unwrap_or_default);
            // Writing to a string does not fail.
            let _ = write!(body, "\n{row}\t{own:.1}\t{library:.1}\t{:.3}\t{reason}", figures.allocations);
        }
        let sum = checksum(&body);
        fs::write(beside("baseline.tsv"), format!("{body}\n# sum\t{sum}\n")).map_err(|error| format!("baseline.tsv: {error}"))
    }

    fn line(&self, row: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.row == row)
    }

    /// Fails where a figure is too far above the baseline, or the baseline rose without a reason.
    pub(crate) fn compare(&self, found: &[(&str, Figures)]) -> Result<(), String> {
        let here = Machine::here()?;
        let Some(machine) = &self.machine else { return Err("there is no baseline: `benches/budget/run --accept` writes one".to_owned()) };
        let mut wrong = Vec::new();
        for Line { row, reason, .. } in &self.lines {
            if reason != NO_REASON && !reasoned(reason)? {
                wrong.push(format!("{row}: its baseline rose, and CHANGELOG.md has no line with `(budget: {reason})` that says why"));
            }
        }
        let (mut over, mut under) = (0, 0);
        let comparable = machine.comparable(&here);
        for (row, figures) in found {
            let Some(line) = self.line(row) else {
                wrong.push(format!("{row}: not in the baseline; `benches/budget/run --accept` adds it"));
                continue;
            };
            for change in changes(row, line.figures, *figures, comparable) {
                if change.above(MOST) {
                    over += 1;
                    wrong.push(format!("OVER BUDGET  {change}"));
                } else if change.below(MOST) {
                    under += 1;
                    println!("lower: {change}");
                }
            }
        }
        if under > 0 {
            println!("`benches/budget/run --accept` keeps what was gained.");
        }
        if over > 0 {
            wrong.push(format!(
                "At most {} % more is allowed. Make it cheaper; `valgrind --tool=callgrind` on target/release/pintle-budget shows where it goes. \
                 If it must cost that, say why in a line of CHANGELOG.md with `(budget: KEY)`, then `benches/budget/run --accept KEY`, and commit both.",
                MOST * 100.0
            ));
        }
        if !wrong.is_empty() {
            return Err(wrong.join("\n"));
        }
        println!("within the budget");
        Ok(())
    }

    /// Writes what was found. What rose needs a reason.
    pub(crate) fn accept(mut self, found: &[(&str, Figures)], key: Option<&str>) -> Result<(), String> {
        if found.iter().any(|(_, figures)| figures.own.is_none()) {
            return Err("nothing was accepted: instructions were not counted".to_owned());
        }
        if let Some(key) = key.filter(|key| !reasoned(key).unwrap_or(false)) {
            return Err(format!("nothing was accepted: CHANGELOG.md has no line with `(budget: {key})` that says why it costs more"));
        }
        let mut rises = Vec::new();
        let mut lines = Vec::new();
        for (row, figures) in found {
            let known = self.line(row);
            let rose: Vec<Change<'_>> = known
                .map(|line| changes(row, line.figures, *figures, [true; 2]))
                .unwrap_or_default()
                .into_iter()
                .filter(|change| change.above(NOISE))
                .collect();
            let reason = match (rose.is_empty(), key, known) {
                (false, Some(key), _) => key,
                (_, _, Some(line)) => &line.reason,
                (_, _, None) => NO_REASON,
            };
            let figures = if rose.is_empty() { known.map_or(*figures, |line| line.figures.least(*figures)) } else { *figures };
            lines.push(Line { row: (*row).to_owned(), figures, reason: reason.to_owned() });
            rises.extend(rose.iter().map(Change::to_string));
        }
        if key.is_none() && !rises.is_empty() {
            return Err(format!(
                "nothing was accepted, for these rose:\n{}\nSay why in a line of CHANGELOG.md with `(budget: KEY)`, then `benches/budget/run --accept KEY`.",
                rises.join("\n")
            ));
        }
        self.lines = lines;
        self.write(&Machine::here()?)?;
        println!("benches/budget/baseline.tsv is written");
        rises.iter().for_each(|rise| println!("rose: {rise}"));
        Ok(())
    }
}

impl Machine {
    /// Whether our own instructions can be compared, and those of libraries; says why not.
    fn comparable(&self, here: &Self) -> [bool; 2] {
        if (&self.rustc, &self.host) != (&here.rustc, &here.host) {
            println!(
                "INSTRUCTIONS ARE NOT COMPARED: the baseline is of rustc {} for {}, this is {} for {}.",
                self.rustc, self.host, here.rustc, here.host
            );
            return [false; 2];
        }
        if self.libc != here.libc {
            println!("Instructions of libraries are not compared: the baseline is of {}, this is {}.", self.libc, here.libc);
        }
        [true, self.libc == here.libc]
    }
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let [row, own, library, allocations, reason] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
        let [own, library, allocations] = [own.parse().ok()?, library.parse().ok()?, allocations.parse().ok()?];
        let figures = Figures { own: Some(own), library: Some(library), allocations };
        Some(Self { row: row.to_owned(), figures, reason: reason.to_owned() })
    }
}

impl Figures {
    /// Of each the lower one: what varies by chance does not creep.
    fn least(self, other: Self) -> Self {
        let least = |one: Option<f64>, other: Option<f64>| Some(one?.min(other?));
        Self {
            own: least(self.own, other.own),
            library: least(self.library, other.library),
            allocations: self.allocations.min(other.allocations),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |steps: Option<f64>| steps.map_or_else(|| "?".to_owned(), |steps| format!("{steps:.1}"));
        write!(f, "{:>9} {:>9} {:>8.3}", shown(self.own), shown(self.library), self.allocations)
    }
}

/// The figures that both sides have and that may be compared.
fn changes<'a>(row: &'a str, was: Figures, is: Figures, [own, library]: [bool; 2]) -> Vec<Change<'a>> {
    let all = was.own.unwrap_or_default() + was.library.unwrap_or_default();
    let pairs = [
        ("instructions", was.own.filter(|_| own), is.own, was.own.unwrap_or_default()),
        ("instructions of libraries", was.library.filter(|_| library), is.library, all),
        (ALLOCATIONS, Some(was.allocations), Some(is.allocations), was.allocations),
    ];
    pairs.into_iter().filter_map(|(what, was, is, whole)| Some(Change { row, what, was: was?, is: is?, whole })).collect()
}

/// FNV-1a: against oversight, not against malice.
fn checksum(text: &str) -> String {
    let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, octet| (sum ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3));
    format!("{sum:016x}")
}
