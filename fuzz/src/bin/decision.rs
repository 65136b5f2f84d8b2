//! Any document as the answer to any hook: it is refused, or what is applied fits the contract.
#![no_main]

use hook_contract::apply::Payload;
use hook_contract::decision::RawDecision;
use hook_contract::hook::Action;
use hook_contract::{Chain, ChainPolicy, Correlation, FailureMode, Hook, Reply, Scope, Terms, Version, check, validate};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: (u8, &[u8], &[u8])| {
    let (number, payload, decision) = input;
    let Some(hook) = Hook::all().nth(usize::from(number) % 16) else { return };
    let (Ok(Value::Object(payload)), Ok(decision)) = (serde_json::from_slice(payload), serde_json::from_slice::<Value>(decision)) else { return };
    let Ok(payload) = Payload::new(hook, payload) else { return };
    let scope = Scope { version: Version::V2, correlation: Correlation::default(), policy: ChainPolicy::default() };
    let mut chain = Chain::new(scope, payload);
    let terms = Terms { actions: &Action::ALL, full_payload: number > 127, version: Version::V2 };
    let reply = RawDecision::from_json(&decision).map(|decision| Reply { decision: Some(decision), ..Reply::default() });
    match reply.and_then(|reply| check(chain.payload(), reply, terms)) {
        Ok(checked) => drop(chain.apply("p", checked)),
        Err(failure) => drop(chain.fail("p", &failure, FailureMode::Closed)),
    }
    let outcome = chain.into_outcome();
    assert_eq!(outcome.decisions.len(), outcome.sources.len());
    assert!(outcome.decisions.iter().all(|decision| hook.spec().actions.contains(&decision.action)));
    assert!(validate(hook, &outcome.payload.view().payload).is_ok());
});
