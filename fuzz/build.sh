# What fuzz/run and fuzz/minimise share; sourced by them, in this directory.

all_targets=(frame scanner hpack message metadata tape conn_server conn_client ops mio)

# What cargo-fuzz sets: coverage for libFuzzer, and AddressSanitizer, which needs the switch for unstable flags.
build() {
    local triple target_dir
    triple=$(rustc -vV | sed -n 's/^host: //p')
    target_dir=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address -Ccodegen-units=1" \
        cargo build --release --target "$triple" --target-dir "$target_dir" --bins
    bin=$target_dir/$triple/release
}

# Lengths and bounds of a target. Nothing may allocate more at once than its configurations allow: for all but the simulated pairs that is little.
flags() {
    case $1 in
        # Operation lists are slow inputs: a few kilobytes of them are thousands of steps.
        ops | conn_* | mio) echo -max_len=4096 -timeout="${TIMEOUT:-30}" -rss_limit_mb=2048 ;;
        tape) echo -max_len=4096 -timeout="${TIMEOUT:-30}" -rss_limit_mb=2048 -malloc_limit_mb=256 ;;
        # The other decoder builds its Huffman table for every string.
        hpack) echo -max_len=600 -timeout="${TIMEOUT:-30}" -rss_limit_mb=2048 -malloc_limit_mb=16 ;;
        *) echo -max_len=2048 -timeout="${TIMEOUT:-10}" -rss_limit_mb=2048 -malloc_limit_mb=16 ;;
    esac
}
