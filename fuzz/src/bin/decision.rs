//! Any documents as answers to any hook: each is refused, or what is applied fits the contract. Input: a registry case's JSON.
#![no_main]

use hook_contract::apply::Payload;
use hook_contract::decision::RawDecision;
use hook_contract::hook::Action;
use hook_contract::{Chain, ChainPolicy, Correlation, FailureMode, Hook, Reply, Scope, Terms, Version, check, validate};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &[u8]| {
    let Ok(case) = serde_json::from_slice::<Value>(text) else { return };
    let Some(hook) = case["hook"].as_str().and_then(Hook::from_name) else { return };
    let Some(Ok(payload)) = case["payload"].as_object().map(|payload| Payload::new(hook, payload.clone())) else { return };
    let scope = Scope { version: Version::V2, correlation: Correlation::default(), policy: ChainPolicy::default() };
    let mut chain = Chain::new(scope, payload);
    for handler in case["handlers"].as_array().into_iter().flatten() {
        let terms = Terms { actions: &Action::ALL, full_payload: handler["full_payload"] == true, version: Version::V2 };
        let reply = RawDecision::from_json(&handler["decision"]).map(|decision| Reply { decision: Some(decision), ..Reply::default() });
        match reply.and_then(|reply| check(chain.payload(), reply, terms)) {
            Ok(checked) => drop(chain.apply("p", checked)),
            Err(failure) => drop(chain.fail("p", &failure, FailureMode::Closed)),
        }
    }
    let outcome = chain.into_outcome();
    assert_eq!(outcome.decisions.len(), outcome.sources.len());
    assert!(outcome.decisions.iter().all(|decision| hook.spec().actions.contains(&decision.action)));
    assert!(validate(hook, &outcome.payload.view().payload).is_ok());
});
