#!/usr/bin/env bash
# Gives every caller of the gateway a second API key, and takes the first away a week later.
# Two keys are valid in between, so that nobody has to change theirs at a fixed minute.
set -euo pipefail

STORE=${HERON_KEYS:-keys.tsv}   # caller <tab> sha256 of the key <tab> day of expiry, or -
GRACE_DAYS=7

new_key() { head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'; }

digest() {
    printf '%s' "$1" | sha256sum | cut -d ' ' -f 1
}

expiry_day() {
    date -u -d "+$GRACE_DAYS days" +%F 2>/dev/null || date -u -v "+${GRACE_DAYS}d" +%F
}

# Only the digest is kept: whoever reads the file cannot call the API with it.
add_key() {
    local caller=$1 key
    key=$(new_key)
    awk -v caller="$caller" -v day="$(expiry_day)" 'BEGIN { FS = OFS = "\t" }
        $1 == caller && $3 == "-" { $3 = day }

        { print }
    ' "$STORE" >"$STORE.new"
    printf '%s\t%s\t-\n' "$caller" "$(digest "$key")" >>"$STORE.new"
    mv "$STORE.new" "$STORE"
    printf '%s\t%s\n' "$caller" "$key"
}

drop_expired() {
    local today
    today=$(date -u +%F)
    awk -v today="$today" 'BEGIN { FS = "\t" } $3 == "-" || $3 >= today' "$STORE" >"$STORE.new"
    mv "$STORE.new" "$STORE"
}

usage() {
    cat >&2 <<-USAGE
	usage: rotate-keys.sh add CALLER   print a new key and let the old one expire
	       rotate-keys.sh expire       drop the keys whose day has passed

	Run expire() from a timer; add() is run by hand.
	USAGE
}

case ${1:-} in
    add) add_key "${2:?which caller}" ;;
    expire) drop_expired ;;
    *)
        usage
        exit 64
        ;;
esac
