//! Binds a compiled component to the host: finds its hooks by its exports, and pre-instantiates it.
//!
//! Separate because it is done once for a plugin, not for each call. Invariant: a plugin that is bound can be called for each of its hooks;
//! nothing here knows an event.

use crate::guest::GuestState;
use crate::inspect::{is_known_import, is_wasi, own_interface};
use crate::limits::Limits;
use crate::manifest::{Grants, Manifest};
use crate::plugin::Plugin;
use crate::wit::{AllHooks, Context, HookError, Interface, for_hook, interface_name};
use hook_contract::hook::{Action, Hook};
use hook_contract::{Failure, FailureKind, display};
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentExportIndex, HasSelf, InstancePre, Linker};

/// The host functions, linked once: without WASI and with it.
pub(crate) struct Linkers {
    plain: Linker<GuestState>,
    wasi: Linker<GuestState>,
}

impl std::fmt::Debug for Linkers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Linkers").finish_non_exhaustive()
    }
}

impl Linkers {
    pub(crate) fn new(engine: &Engine) -> wasmtime::Result<Self> {
        let own = || -> wasmtime::Result<Linker<GuestState>> {
            let mut linker = Linker::new(engine);
            AllHooks::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
            Ok(linker)
        };
        let (plain, mut wasi) = (own()?, own()?);
        crate::wasi::add_to_linker(&mut wasi)?;
        Ok(Self { plain, wasi })
    }
}

/// Binds a component with what its manifest asks for and the grants it was given.
pub(crate) fn bind(
    linkers: &Linkers,
    component: &Component,
    digest: String,
    manifest: &Manifest,
    grants: &Grants,
    host: Limits,
) -> Result<Plugin, Failure> {
    let span = tracing::debug_span!("bind", plugin = manifest.name);
    let _entered = span.enter();
    check_grants(grants)?;
    let wasi = check_imports(component)?;
    let linker = if wasi { &linkers.wasi } else { &linkers.plain };
    let pre = linker.instantiate_pre(component).map_err(|error| {
        tracing::debug!(%error, "not bound");
        Failure::new(FailureKind::WrongType, "an import has another type than the host's, or a WASI function is not there")
    })?;
    let exports = find_hooks(component, &pre, manifest)?;
    let actions = exports.iter().map(|(hook, _)| (*hook, granted(*hook, grants))).collect();
    Ok(Plugin {
        pre,
        exports,
        limits: host.narrowed(&manifest.limits),
        settings: serde_json::Value::Object(manifest.settings.clone()).to_string().into(),
        full_payload: grants.full_payload,
        matcher: manifest.matcher.clone(),
        actions,
        wasi,
        digest,
    })
}

fn granted(hook: Hook, grants: &Grants) -> Vec<Action> {
    hook.spec().actions.iter().copied().filter(|action| grants.allows(*action)).collect()
}

fn check_grants(grants: &Grants) -> Result<(), Failure> {
    match grants.unavailable.first() {
        None => Ok(()),
        Some(name) => {
            Err(Failure::new(FailureKind::GrantUnavailable, format!("`{}` is not served by this host", display::plain(name, 64))))
        }
    }
}

/// Checks that the host has everything that is imported; says whether WASI is among it.
fn check_imports(component: &Component) -> Result<bool, Failure> {
    let component_type = component.component_type();
    let mut wasi = false;
    for (name, _) in component_type.imports(component.engine()) {
        if !is_known_import(name) {
            return Err(Failure::new(
                FailureKind::UnknownImport,
                format!("it imports `{}`, which this host does not give", display::plain(name, 120)),
            ));
        }
        wasi |= is_wasi(name);
    }
    Ok(wasi)
}

fn find_hooks(
    component: &Component,
    pre: &InstancePre<GuestState>,
    manifest: &Manifest,
) -> Result<Vec<(Hook, ComponentExportIndex)>, Failure> {
    let mut exports = Vec::new();
    for hook in Hook::all() {
        let wanted = manifest.hooks.as_ref().is_none_or(|hooks| hooks.contains(&hook));
        match find_hook(component, pre, hook)? {
            Some(export) if wanted => exports.push((hook, export)),
            None if wanted && manifest.hooks.is_some() => {
                return Err(Failure::new(FailureKind::MissingHook, format!("hook.yaml lists {hook}, which the component does not export")));
            }
            _ => {}
        }
    }
    if exports.is_empty() {
        return Err(Failure::new(FailureKind::WrongWorld, format!("it exports no hook of geode:hooks@2.0.0, but {}", exported(component))));
    }
    Ok(exports)
}

/// Names what a component exports instead of a hook.
fn exported(component: &Component) -> String {
    let component_type = component.component_type();
    let names: Vec<_> = component_type.exports(component.engine()).take(4).map(|(name, _)| display::plain(name, 80)).collect();
    let of_ours = names.iter().any(|name| own_interface(name).is_some());
    match (names.is_empty(), of_ours) {
        (true, _) => "nothing".to_owned(),
        (false, true) => format!("{}, which this host does not serve yet", names.join(", ")),
        (false, false) => names.join(", "),
    }
}

/// Returns the `handle` function of a hook's interface, type-checked; `None` where it is not exported.
fn find_hook(component: &Component, pre: &InstancePre<GuestState>, hook: Hook) -> Result<Option<ComponentExportIndex>, Failure> {
    let Some(interface) = component.get_export_index(None, interface_name(hook)) else { return Ok(None) };
    let wrong = |what: &str| Failure::new(FailureKind::WrongType, format!("its {hook} {what}"));
    let Some((item, export)) = component.get_export(Some(&interface), "handle") else { return Err(wrong("has no function `handle`")) };
    let ComponentItem::ComponentFunc(function) = item else { return Err(wrong("exports `handle` as something else than a function")) };
    let fits = !function.async_() && for_hook!(hook, I => fits::<I>(&function, pre));
    if fits { Ok(Some(export)) } else { Err(wrong("has a `handle` of another type than geode:hooks@2.0.0")) }
}

type Answer<R> = (Result<R, HookError>,);

fn fits<I: Interface>(function: &wasmtime::component::types::ComponentFunc, pre: &InstancePre<GuestState>) -> bool {
    function.typecheck::<(&Context, &I::Payload), Answer<I::Reply>>(&pre.instance_type()).is_ok()
}
