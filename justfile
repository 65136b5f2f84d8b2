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

# The contract's cases alone, with their counts.
conformance:
    scripts/test conformance

# Random input for what reads hostile input.
fuzz seconds="60":
    scripts/test fuzz {{seconds}}

# What CI runs.
ci:
    .ci/run

# Measure; read the ratios in host/docs/performance.md.
bench:
    cargo bench -p integration --bench dispatch
    cargo bench -p integration --bench bound

# Format everything.
fmt:
    cargo fmt --all
    cd example-plugins && cargo fmt --all
