//! Reads a component with the parser: what it exports, imports and was made with.
//!
//! Separate because `list`, `trust` and `inspect` look at files that nobody vouched for: nothing here compiles, and the scan is linear.

use hook_contract::hook::Hook;
use hook_contract::{Failure, FailureKind, display};
use wasmparser::{Encoding, Parser, Payload};

/// The most bytes of a plugin's file.
pub const MAX_COMPONENT_BYTES: u64 = 8 * 1024 * 1024;
/// The most imports, exports and producers that are kept.
const MAX_NAMES: usize = 256;

/// What the parser sees in a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Its size in bytes.
    pub bytes: usize,
    /// BLAKE3 of its bytes, as hex.
    pub digest: String,
    /// The names it exports, safe to show.
    pub exports: Vec<String>,
    /// The names it imports, safe to show.
    pub imports: Vec<String>,
    /// What it was made with: `language: Rust`, safe to show.
    pub producers: Vec<String>,
    /// How many core modules it holds.
    pub core_modules: usize,
}

/// The package and version that this host serves.
pub(crate) const PACKAGE: &str = "geode:hooks/";
/// The imports of our own that are always linked.
const OWN_IMPORTS: [&str; 4] = ["types", "log", "settings", "state"];

/// Splits `geode:hooks/pre-tool-use@2.0.1` where the version is one that this host serves.
pub(crate) fn own_interface(name: &str) -> Option<&str> {
    let (interface, version) = name.strip_prefix(PACKAGE)?.split_once('@')?;
    version.starts_with("2.0.").then_some(interface)
}

impl Inspection {
    /// Reads a component.
    ///
    /// # Errors
    /// [`Failure`] with `NotWasm`, `CoreModule` or `Malformed`.
    pub fn read(bytes: &[u8]) -> Result<Self, Failure> {
        check_header(bytes)?;
        let mut inspection = Self { bytes: bytes.len(), digest: blake3::hash(bytes).to_hex().to_string(), ..Self::default() };
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.map_err(|error| malformed(&error))?;
            match payload {
                Payload::ModuleSection { .. } => {
                    inspection.core_modules += 1;
                    depth += 1;
                }
                Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                other => inspection.note(other, depth)?,
            }
        }
        Ok(inspection)
    }

    fn note(&mut self, payload: Payload<'_>, depth: usize) -> Result<(), Failure> {
        match payload {
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    keep(&mut self.imports, import.map_err(|error| malformed(&error))?.name.name);
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    keep(&mut self.exports, export.map_err(|error| malformed(&error))?.name.name);
                }
            }
            Payload::CustomSection(section) => {
                if let wasmparser::KnownCustom::Producers(producers) = section.as_known() {
                    self.note_producers(producers);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A damaged producers section is no reason to refuse a plugin.
    fn note_producers(&mut self, producers: wasmparser::ProducersSectionReader<'_>) {
        for field in producers.into_iter().flatten() {
            for value in field.values.into_iter().flatten() {
                let line = format!("{}: {} {}", field.name, value.name, value.version);
                if !self.producers.contains(&display::plain(&line, 120)) {
                    keep(&mut self.producers, line.trim());
                }
            }
        }
    }

    /// Returns the hooks it exports.
    pub fn hooks(&self) -> Vec<Hook> {
        Hook::all().filter(|hook| self.exports.iter().any(|name| own_interface(name) == Some(hook.spec().interface))).collect()
    }

    /// Returns the imports that this host does not give.
    pub fn lacking(&self) -> Vec<&str> {
        self.imports.iter().map(String::as_str).filter(|name| !is_known_import(name)).collect()
    }
}

/// Says whether an import is one that this host links.
pub(crate) fn is_known_import(name: &str) -> bool {
    own_interface(name).is_some_and(|interface| OWN_IMPORTS.contains(&interface)) || is_wasi(name)
}

/// Says whether an import is of WASI 0.2, whose empty form is linked for guests that insist on it.
pub(crate) fn is_wasi(name: &str) -> bool {
    let packages = ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];
    packages.iter().any(|package| name.starts_with(package)) && name.contains("@0.2.")
}

fn keep(names: &mut Vec<String>, name: &str) {
    if names.len() < MAX_NAMES {
        names.push(display::plain(name, 120));
    }
}

fn malformed(error: &wasmparser::BinaryReaderError) -> Failure {
    Failure::new(FailureKind::Malformed, format!("it is damaged or ends early, at byte {}", error.offset()))
}

/// Checks that bytes begin as WebAssembly does.
pub(crate) fn check_magic(bytes: &[u8]) -> Result<(), Failure> {
    if bytes.starts_with(b"\0asm") {
        return Ok(());
    }
    let what = if bytes.is_empty() { "the file is empty" } else { "the file is no WebAssembly" };
    Err(Failure::new(FailureKind::NotWasm, what))
}

fn check_header(bytes: &[u8]) -> Result<(), Failure> {
    check_magic(bytes)?;
    match Parser::new(0).parse_all(bytes).next() {
        Some(Ok(Payload::Version { encoding: Encoding::Component, .. })) => Ok(()),
        Some(Ok(Payload::Version { encoding: Encoding::Module, .. })) => {
            Err(Failure::new(FailureKind::CoreModule, "the file is a core module, not a component"))
        }
        _ => Err(Failure::new(FailureKind::Malformed, "its header is damaged")),
    }
}
