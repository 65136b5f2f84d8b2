//! Clouds, clusters, containers, databases, and the machine itself.
//!
//! Separate because these are one table: which words of which program. Invariant: a row matches words in their order, wherever options stand.

use super::has_short;
use crate::shell::Feed;
use crate::shell::simple::Call;
use crate::shell::walk::Walker;
use crate::verdict::Level;

/// One destructive command of a program.
struct Row {
    programs: &'static [&'static str],
    /// Operands that must appear in this order; a trailing `*` matches any ending.
    words: &'static [&'static str],
    /// Arguments of which one must be there; none means always.
    any: &'static [&'static str],
    level: Level,
    what: &'static str,
    instead: &'static str,
}

const fn block(programs: &'static [&'static str], words: &'static [&'static str], any: &'static [&'static str], what: &'static str) -> Row {
    Row { programs, words, any, level: Level::Block, what, instead: "leave it to a person" }
}

const fn ask(programs: &'static [&'static str], words: &'static [&'static str], any: &'static [&'static str], what: &'static str) -> Row {
    Row { programs, words, any, level: Level::Ask, what, instead: "look first with the command's plan, dry-run or list form" }
}

const TERRAFORM: &[&str] = &["terraform", "tofu", "terragrunt"];
const KUBECTL: &[&str] = &["kubectl", "oc", "k3s"];
const DOCKER: &[&str] = &["docker", "podman", "nerdctl"];

const ROWS: &[Row] = &[
    block(TERRAFORM, &["destroy"], &[], "destroys infrastructure"),
    block(TERRAFORM, &["apply"], &["-destroy", "--destroy"], "destroys infrastructure"),
    ask(
        TERRAFORM,
        &["apply"],
        &["-auto-approve*", "--auto-approve*", "--terragrunt-non-interactive"],
        "changes infrastructure without a look at the plan",
    ),
    ask(TERRAFORM, &["state", "rm"], &[], "makes the state forget resources"),
    ask(TERRAFORM, &["workspace", "delete"], &[], "deletes a workspace"),
    ask(TERRAFORM, &["run-all"], &[], "changes every module"),
    block(&["pulumi"], &["destroy"], &[], "destroys infrastructure"),
    ask(&["pulumi"], &["stack", "rm"], &[], "deletes a stack"),
    ask(&["pulumi"], &["up"], &["--yes", "-y", "--skip-preview"], "changes infrastructure without a look at the plan"),
    ask(&["cdk", "sls", "serverless", "copilot", "sam"], &["destroy"], &[], "destroys infrastructure"),
    ask(&["sls", "serverless", "copilot", "sam", "eksctl", "kind", "minikube"], &["remove|delete"], &[], "destroys infrastructure"),
    block(
        KUBECTL,
        &["delete", "ns|namespace|namespaces|crd|pv|pvc|node|nodes"],
        &[],
        "deletes a namespace, volume or node with all that is in it",
    ),
    block(KUBECTL, &["delete"], &["--all", "-A", "--all-namespaces"], "deletes every resource of a kind"),
    ask(KUBECTL, &["delete"], &[], "deletes resources in a cluster"),
    ask(KUBECTL, &["drain|replace"], &[], "evicts or replaces what runs in a cluster"),
    ask(&["helm"], &["uninstall|delete|del|un|rollback"], &[], "removes a release"),
    block(&["aws"], &["s3", "rm"], &["--recursive"], "deletes every object below a path"),
    block(&["aws"], &["s3", "rb"], &["--force"], "deletes a bucket with all its objects"),
    ask(&["aws"], &["s3", "rm|rb"], &[], "deletes from a bucket"),
    ask(&["aws"], &["s3", "sync"], &["--delete"], "deletes objects while it copies"),
    ask(&["aws"], &["delete-*"], &[], "deletes a cloud resource"),
    ask(&["aws"], &["terminate-*"], &[], "terminates machines"),
    ask(
        &["gcloud", "az", "doctl", "flyctl", "fly", "heroku", "hcloud", "linode-cli", "oci", "ibmcloud"],
        &["delete|destroy|purge|apps:destroy"],
        &[],
        "deletes a cloud resource",
    ),
    ask(&["heroku"], &["apps:destroy|pg:reset|addons:destroy"], &[], "deletes an app or its data"),
    ask(&["gsutil", "rclone"], &["rm|rb|purge|delete|deletefile"], &[], "deletes from cloud storage"),
    ask(&["gh", "glab"], &["repo|release|secret|variable|gist|run|cache", "delete"], &[], "deletes on the forge"),
    ask(DOCKER, &["system", "prune"], &[], "deletes containers, images or volumes"),
    ask(DOCKER, &["volume", "rm|prune"], &[], "deletes volumes and their data"),
    ask(DOCKER, &["image|container|builder|network", "prune"], &["-a", "--all", "-af", "-fa"], "deletes images or containers"),
    ask(DOCKER, &["compose", "down"], &["-v", "--volumes", "--rmi"], "deletes volumes and their data"),
    ask(&["docker-compose"], &["down"], &["-v", "--volumes", "--rmi"], "deletes volumes and their data"),
    ask(&["dropdb", "dropuser"], &[], &[], "deletes a database or a role"),
    ask(&["redis-cli", "valkey-cli"], &["flushall|flushdb"], &[], "empties a database"),
    ask(&["mysqladmin"], &["drop"], &[], "deletes a database"),
    block(&["npm", "pnpm", "yarn"], &["unpublish"], &[], "takes a published package away"),
    ask(&["cargo"], &["yank"], &[], "takes a published version away"),
    block(&["shutdown", "reboot", "halt", "poweroff"], &[], &[], "stops the machine"),
    block(&["systemctl"], &["poweroff|reboot|halt|kexec|rescue|emergency"], &[], "stops the machine"),
    block(&["init", "telinit"], &["0|6|1"], &[], "stops the machine"),
    block(&["killall5"], &[], &[], "kills every process"),
    block(&["kexec"], &[], &[], "replaces the running kernel"),
    ask(&["iptables", "ip6tables"], &[], &["-F", "--flush", "-X"], "drops every firewall rule"),
    ask(&["nft"], &["flush|delete"], &[], "drops firewall rules"),
    ask(&["ufw"], &["disable|reset"], &[], "switches the firewall off"),
    ask(&["userdel", "groupdel", "deluser"], &[], &[], "deletes an account"),
    ask(&["crontab"], &[], &["-r", "-ri", "-ir"], "deletes every cron job"),
    ask(&["vagrant"], &["destroy"], &[], "deletes a machine"),
    ask(&["virsh"], &["destroy|undefine|vol-delete"], &[], "deletes a machine or its disk"),
];

/// Judges a call by the table, and text that goes to a database.
pub fn judge(walker: &mut Walker<'_>, call: &Call) {
    let help = call.texts().any(|t| matches!(t, "--help" | "--dry-run" | "--dry-run=client" | "--dry-run=server" | "--dryrun"));
    let row = ROWS.iter().find(|row| {
        row.programs.contains(&call.program.as_str())
            && in_order(call, row.words)
            && (row.any.is_empty() || call.texts().any(|t| row.any.iter().any(|word| one_of(word, t))))
    });
    if let Some(row) = row.filter(|_| !help) {
        walker.find(row.level, &call.shown(), row.what, row.instead);
    }
    match call.program.as_str() {
        "kill" => kill(walker, call),
        "psql" | "mysql" | "mariadb" | "sqlite3" | "sqlcmd" | "mongosh" | "mongo" | "clickhouse-client" | "duckdb" | "cqlsh" | "bq"
        | "snowsql" => {
            sql(walker, call);
        }
        _ => {}
    }
}

/// Whether `word`, a list of choices with `|`, matches `text` without regard to case.
fn one_of(word: &str, text: &str) -> bool {
    word.split('|').any(|choice| match choice.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => text.eq_ignore_ascii_case(choice),
    })
}

fn in_order(call: &Call, words: &[&str]) -> bool {
    let mut operands = call.operands();
    words.iter().all(|word| operands.any(|text| one_of(word, text) || text.split(['/', ',']).any(|part| one_of(word, part))))
}

/// `kill -9 -1` and its spellings.
fn kill(walker: &mut Walker<'_>, call: &Call) {
    let texts: Vec<&str> = call.texts().collect();
    let signalled = texts.len() > 1;
    if signalled && texts.iter().skip(1).any(|t| *t == "-1") {
        walker.find(Level::Block, &call.shown(), "kills every process of this user", "name the process");
    } else if texts.contains(&"1") && !texts.iter().any(|t| has_short(t, 'l') || has_short(t, '0')) {
        walker.find(Level::Ask, &call.shown(), "signals the first process of the machine", "name the process");
    }
}

const SQL: &[&[&str]] = &[
    &["drop", "database"],
    &["drop", "table"],
    &["drop", "schema"],
    &["drop", "owned"],
    &["drop", "user"],
    &["drop", "role"],
    &["drop", "keyspace"],
    &["truncate"],
    &["dropdatabase"],
    &["deletemany"],
];

fn sql(walker: &mut Walker<'_>, call: &Call) {
    let mut texts: Vec<String> = call.texts().map(str::to_owned).collect();
    if let Feed::Text(text) = &call.feed {
        texts.push(text.clone());
    }
    for text in texts {
        let words: Vec<String> =
            text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).map(str::to_ascii_lowercase).collect();
        let found = SQL.iter().any(|row| words.windows(row.len()).any(|w| w.iter().map(String::as_str).eq(row.iter().copied())));
        let statements = text.to_ascii_lowercase();
        let unbounded = statements.split(';').any(|s| s.contains("delete from") && !s.contains("where"));
        if found || unbounded {
            walker.find(Level::Ask, &call.shown(), "deletes data in a database", "leave it to a person, or bound it with WHERE");
            return;
        }
    }
}
