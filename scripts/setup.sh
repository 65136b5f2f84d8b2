# Sourced by the other scripts: goes to the repository, and sees to the pinned toolchain with its wasm targets.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v rustup >/dev/null || ! command -v cargo >/dev/null; then
  echo "geode-hooks is built with Rust, installed by rustup: https://rustup.rs" >&2
  exit 1
fi
# `rust-toolchain.toml` names the toolchain, its components and targets; both commands do nothing where they are there.
if ! rustc --version >/dev/null 2>&1; then
  rustup toolchain install
fi
rustup target add wasm32-unknown-unknown wasm32-wasip2 2>/dev/null
rustup component add clippy rustfmt 2>/dev/null

target_dir=${CARGO_TARGET_DIR:-$PWD/target}

# Builds the plugins of example-plugins and writes each as a component: plugin NAME... into FOLDER/NAME/plugin.wasm, with its hook.yaml.
install_plugins() {
  local folder=$1 name
  shift
  (cd example-plugins && CARGO_TARGET_DIR=$target_dir/guests cargo build --quiet --release --locked --target wasm32-unknown-unknown)
  for name in "$@"; do
    mkdir -p "$folder/$name"
    "$target_dir/release/geode-hooks" --json componentize "$target_dir/guests/wasm32-unknown-unknown/release/${name//-/_}.wasm" \
      -o "$folder/$name/plugin.wasm" >/dev/null
    cp "example-plugins/$name/hook.yaml" "$folder/$name/"
  done
}
