//! Integration tests. They compile guests with cargo, and use real components, real SQLite files and real processes below a scratch folder; no
//! network.
#![allow(
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod audit;
mod cli;
mod conformance;
mod embedding;
mod events;
mod failures;
mod handlers;
mod modes;
mod plugins;
mod reload;
mod support;
mod tidy;
mod trust;
