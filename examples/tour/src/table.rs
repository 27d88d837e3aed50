//! A table of text whose columns are as wide as their widest cell.

use std::fmt;

/// Rows of cells, the first of them the heads.
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    pub(crate) fn new<'a>(heads: impl Iterator<Item = &'a str>) -> Self {
        Self(vec![heads.map(str::to_owned).collect()])
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.0.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| self.0.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
        for row in &self.0 {
            let line: Vec<_> = row.iter().enumerate().map(|(column, cell)| format!("{cell:<width$}", width = width(column))).collect();
            writeln!(f, "{}", line.join("   ").trim_end())?;
        }
        Ok(())
    }
}
