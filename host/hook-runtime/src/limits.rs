//! How much a guest may use, and the count of what it uses.
//!
//! Separate because no sandbox may be made without it. Invariant: every limit has a hard maximum, and memory and tables are summed over a
//! store, not counted for each object.

use hook_contract::aimon::timeout_for;
use std::time::Duration;
use wasmtime::ResourceLimiter;

/// What one call of a plugin may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    fuel: u64,
    deadline: Duration,
    memory: u64,
}

/// The most bytes of memory that a call may have, and the default.
pub const MAX_MEMORY: u64 = 64 * 1024 * 1024;
/// The most fuel of a call; the default is a hundredth of it.
pub const MAX_FUEL: u64 = 100_000_000_000;
/// The longest deadline.
pub const MAX_DEADLINE: Duration = Duration::from_mins(10);
/// The shortest deadline.
pub const MIN_DEADLINE: Duration = Duration::from_millis(10);

impl Default for Limits {
    /// 10 seconds of guest time, 10^9 fuel, 64 MiB.
    fn default() -> Self {
        Self { fuel: 1_000_000_000, deadline: Duration::from_secs(10), memory: MAX_MEMORY }
    }
}

impl Limits {
    /// Sets the fuel; clamped to 1 and [`MAX_FUEL`].
    #[must_use]
    pub fn with_fuel(self, fuel: u64) -> Self {
        Self { fuel: fuel.clamp(1, MAX_FUEL), ..self }
    }

    /// Sets the guest's time; clamped to [`MIN_DEADLINE`] and [`MAX_DEADLINE`].
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline: deadline.clamp(MIN_DEADLINE, MAX_DEADLINE), ..self }
    }

    /// Sets the bytes of memory; clamped to one page and [`MAX_MEMORY`].
    #[must_use]
    pub fn with_memory(self, memory: u64) -> Self {
        Self { memory: memory.clamp(65_536, MAX_MEMORY), ..self }
    }

    /// Returns the fuel of a call.
    pub fn fuel(&self) -> u64 {
        self.fuel
    }

    /// Returns the guest's time in a call.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Returns the bytes of memory of a call, summed over all memories.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Returns these limits as a plugin's manifest changes them: less of everything; more only of time, with 5 seconds of grace.
    #[must_use]
    pub fn narrowed(self, asked: &Asked) -> Self {
        let host = self.deadline;
        // Less binds that plugin alone; more is the second system's formula.
        let less = asked.deadline.filter(|asked| *asked < host);
        let deadline = less.unwrap_or_else(|| timeout_for(host, asked.deadline).map_or(host, |(time, _)| time));
        let narrowed = self
            .with_fuel(asked.fuel.map_or(self.fuel, |fuel| fuel.min(self.fuel)))
            .with_memory(asked.memory.map_or(self.memory, |memory| memory.min(self.memory)));
        Self { deadline, ..narrowed }
    }
}

/// What a manifest asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Guest time.
    pub deadline: Option<Duration>,
    /// Fuel.
    pub fuel: Option<u64>,
    /// Bytes of memory.
    pub memory: Option<u64>,
}

/// The most table elements of a store: Python and Go need over 5,000.
pub(crate) const MAX_TABLE_ELEMENTS: usize = 10_000;
/// The most core instances, memories and tables of a store.
pub(crate) const MAX_CORE_INSTANCES: usize = 64;
pub(crate) const MAX_MEMORIES: usize = 8;
pub(crate) const MAX_TABLES: usize = 16;
/// The most bytes that may cross from guest to host in one host call, and live handles.
pub(crate) const HOSTCALL_FUEL: usize = 1024 * 1024;
pub(crate) const HOSTCALL_FUEL_FULL_PAYLOAD: usize = 3 * 1024 * 1024;
pub(crate) const MAX_HANDLES: usize = 256;

/// Sums memory and tables over a store.
#[derive(Debug)]
pub(crate) struct Limiter {
    max_memory: usize,
    memory: usize,
    table_elements: usize,
    /// Whether the guest asked for more memory or table than it may have: then the trap that follows is no ordinary one.
    pub(crate) denied: bool,
}

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Self {
        let max_memory = usize::try_from(limits.memory()).unwrap_or(usize::MAX);
        Self { max_memory, memory: 0, table_elements: 0, denied: false }
    }

    /// Returns the most bytes of memory that the store held; memory never shrinks.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    fn grow(&mut self, sum: usize, current: usize, desired: usize, max: usize) -> Option<usize> {
        let next = sum.saturating_sub(current).saturating_add(desired);
        if next > max {
            self.denied = true;
            return None;
        }
        Some(next)
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let next = self.grow(self.memory, current, desired, self.max_memory);
        self.memory = next.unwrap_or(self.memory);
        Ok(next.is_some())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let next = self.grow(self.table_elements, current, desired, MAX_TABLE_ELEMENTS);
        self.table_elements = next.unwrap_or(self.table_elements);
        Ok(next.is_some())
    }

    fn instances(&self) -> usize {
        MAX_CORE_INSTANCES
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_narrows_and_only_time_can_grow() {
        let host = Limits::default();
        let asked = |deadline| Asked { deadline: Some(deadline), fuel: Some(u64::MAX), memory: Some(u64::MAX) };
        let cases = [(1, 1), (10, 15), (60, 65), (600, 605), (100_000, 605)];
        for (seconds, expected) in cases {
            let limits = host.narrowed(&asked(Duration::from_secs(seconds)));
            assert_eq!(limits.deadline(), Duration::from_secs(expected), "{seconds} s");
            assert_eq!((limits.fuel(), limits.memory()), (host.fuel(), host.memory()));
        }
    }

    #[test]
    fn memory_is_summed_over_a_store() {
        let mut limiter = Limiter::new(&Limits::default().with_memory(3 * 65_536));
        assert!(limiter.memory_growing(0, 65_536, None).unwrap());
        assert!(limiter.memory_growing(0, 2 * 65_536, None).unwrap());
        assert!(!limiter.memory_growing(65_536, 2 * 65_536, None).unwrap());
        assert!(limiter.denied);
        assert_eq!(limiter.memory(), 3 * 65_536);
    }
}
