//! The plugin's settings, read from the manifest's JSON.
//!
//! Separate so that a wrong setting is refused in one place. Invariant: an unknown key or a wrong type is an error, never ignored.

use serde_json::Value;

/// What the manifest may set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Absolute or `~` paths below which recursive deletion is fine.
    pub allow_paths: Vec<String>,
    /// Ask a person where the guard would block.
    pub ask_instead_of_block: bool,
    /// Extra path patterns (`*`, `?`, `**`) whose change is asked about.
    pub protect: Vec<String>,
}

impl Settings {
    /// Reads the settings; `null` and `{}` are the defaults.
    ///
    /// # Errors
    ///
    /// A text for a person when a key is unknown or a value has the wrong type.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        let mut settings = Self::default();
        let map = match value {
            Value::Null => return Ok(settings),
            Value::Object(map) => map,
            _ => return Err("settings: expected an object".to_owned()),
        };
        for (key, value) in map {
            match key.as_str() {
                "allow_paths" => settings.allow_paths = strings(key, value)?,
                "protect" => settings.protect = strings(key, value)?,
                "ask_instead_of_block" => {
                    settings.ask_instead_of_block = value.as_bool().ok_or_else(|| format!("settings: expected a boolean in `{key}`"))?;
                }
                _ => {
                    return Err(format!("settings: unknown key `{key}`, expected `allow_paths`, `ask_instead_of_block` or `protect`"));
                }
            }
        }
        Ok(settings)
    }
}

fn strings(key: &str, value: &Value) -> Result<Vec<String>, String> {
    value
        .as_array()
        .and_then(|items| items.iter().map(|i| i.as_str().map(str::to_owned)).collect())
        .ok_or_else(|| format!("settings: expected a list of strings in `{key}`"))
}
