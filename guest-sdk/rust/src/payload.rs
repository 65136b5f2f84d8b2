//! JSON in payloads: reading it, and making payloads and rewrites of it.
//!
//! The contract carries open objects as JSON text; here it meets `serde`.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Failure, failed, post_tool_use, pre_compact, pre_tool_use, user_prompt_submit};

impl user_prompt_submit::Payload {
    /// A prompt, for tests.
    pub fn new(user_input: impl Into<String>) -> Self {
        Self { user_input: user_input.into() }
    }
}

impl pre_tool_use::Payload {
    /// A call, for tests.
    pub fn new(tool_name: impl Into<String>, arguments: &Value) -> Self {
        Self { tool_name: tool_name.into(), arguments: arguments.to_string() }
    }

    /// The tool's arguments as a type of the plugin, or as a [`Value`].
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where they do not fit `T`.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        parse("arguments", &self.arguments)
    }

    /// The text at `pointer` (`/arguments/command`): a string as it is, another value as JSON text, so that a guard can search a list
    /// of words too; empty where there is nothing. Each call parses the arguments; use [`arguments`](Self::arguments) to read several.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where `pointer` does not start with `/arguments`, or the arguments are not JSON.
    pub fn text(&self, pointer: &str) -> Result<String, Failure> {
        text_in(&[("arguments", &self.arguments)], pointer)
    }
}

impl post_tool_use::Payload {
    /// A call that ran without an error, for tests.
    pub fn new(tool_name: impl Into<String>, arguments: &Value, result: &Value) -> Self {
        Self { tool_name: tool_name.into(), arguments: arguments.to_string(), result: result.to_string(), has_error: false, executed: true }
    }

    /// The tool's arguments as a type of the plugin, or as a [`Value`].
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where they do not fit `T`.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        parse("arguments", &self.arguments)
    }

    /// The tool's result as a type of the plugin, or as a [`Value`].
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where it does not fit `T`.
    pub fn result<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        parse("result", &self.result)
    }

    /// The text at `pointer` (`/result/stdout`, `/arguments/command`), as [`pre_tool_use::Payload::text`] gives it.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where `pointer` starts with neither field, or the field is not JSON.
    pub fn text(&self, pointer: &str) -> Result<String, Failure> {
        text_in(&[("arguments", &self.arguments), ("result", &self.result)], pointer)
    }
}

impl<S: Into<String>> From<S> for user_prompt_submit::Updates {
    fn from(user_input: S) -> Self {
        Self { user_input: user_input.into() }
    }
}

/// New arguments. The host applies the difference to what the plugin was given, so untouched keys keep their real value.
impl From<Value> for pre_tool_use::Updates {
    fn from(arguments: Value) -> Self {
        Self { tool_name: None, arguments: Some(arguments.to_string()) }
    }
}

impl From<i64> for pre_compact::Updates {
    fn from(keep_recent: i64) -> Self {
        Self { keep_recent }
    }
}

fn parse<T: DeserializeOwned>(field: &str, json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|error| failed(format!("`{field}`: {error}")))
}

fn text_in(fields: &[(&str, &String)], pointer: &str) -> Result<String, Failure> {
    for (field, json) in fields {
        let inner = pointer.strip_prefix('/').and_then(|path| path.strip_prefix(field));
        if let Some(inner) = inner.filter(|inner| inner.is_empty() || inner.starts_with('/')) {
            let value: Value = parse(field, json)?;
            return Ok(value.pointer(inner).map(text_of).unwrap_or_default());
        }
    }
    Err(failed(format!("`{pointer}` leads to no JSON field of this payload")))
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Failure, post_tool_use, pre_tool_use};

    #[test]
    fn text_is_found_by_pointer() {
        let call = post_tool_use::Payload::new("Bash", &json!({ "command": ["ls", "-l"] }), &json!({ "out": "a", "n": null }));
        let cases = [("/result/out", "a"), ("/arguments/command", r#"["ls","-l"]"#), ("/arguments/command/1", "-l"), ("/result/none", "")];
        for (pointer, expected) in cases {
            assert_eq!(call.text(pointer).unwrap(), expected, "{pointer}");
        }
        assert!(matches!(call.text("/resulting"), Err(Failure::Failed(_))));
    }

    #[test]
    fn arguments_that_do_not_fit_are_a_failure() {
        #[derive(Debug, serde::Deserialize)]
        struct Arguments {
            #[expect(dead_code, reason = "only its presence matters")]
            path: String,
        }
        let call = pre_tool_use::Payload::new("Read", &json!({ "file": "x" }));
        let failure = call.arguments::<Arguments>().unwrap_err();
        assert!(failure.to_string().contains("`arguments`"), "{failure}");
    }
}
