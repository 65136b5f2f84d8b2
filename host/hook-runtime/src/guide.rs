//! The chapters of `host/docs`, so that they are read beside the API and their examples compile.

#[doc = include_str!("../../docs/embedding.md")]
pub mod embedding {}
#[doc = include_str!("../../docs/failure.md")]
pub mod failure {}
#[doc = include_str!("../../docs/limits.md")]
pub mod limits {}
#[doc = include_str!("../../docs/manifest.md")]
pub mod manifest {}
#[doc = include_str!("../../docs/performance.md")]
pub mod performance {}
#[doc = include_str!("../../docs/security.md")]
pub mod security {}
#[doc = include_str!("../../docs/trust.md")]
pub mod trust {}
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub mod readme {}
