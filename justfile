# The same commands as in scripts/, for those who like short names.

# Show the whole product in a scratch project.
demo:
    scripts/demo

# Run every check and test.
test:
    scripts/test

# Only build and test, without lints and docs.
quick:
    scripts/test quick

# What CI runs.
ci:
    .ci/run

# Measure; read the ratios in host/docs/performance.md.
bench:
    cargo bench -p integration --bench dispatch

# Format everything.
fmt:
    cargo fmt --all
    cd example-plugins && cargo fmt --all
