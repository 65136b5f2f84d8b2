//! Sets the plugin's stack: the parser descends, and the 64 KiB that suit other plugins do not hold the nesting that `bounds.rs` lets through.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        println!("cargo::rustc-link-arg-cdylib=-zstack-size=262144");
    }
}
