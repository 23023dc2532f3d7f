#!/usr/bin/env bash
# Dumps the offline feature store, checks the dump by reading it, and keeps fourteen of them.
# usage: backup.sh DIRECTORY
set -euo pipefail

readonly KEEP=14
readonly MINIMUM_BYTES=$((10 * 1024 * 1024))

log() {
    printf '%s %s\n' "$(date -u +%FT%TZ)" "$*" >&2
}

die() {
    log "error: $*"
    exit 1
}

# A dump that cannot be listed cannot be restored either; find out now, not on the bad day.
verify() {
    local dump=$1
    local size

    size=$(wc -c <"$dump")
    if ((size < MINIMUM_BYTES)); then
        die "$dump has only $size bytes"
    fi
    pg_restore --list "$dump" >/dev/null || die "$dump cannot be read"
}

function rotate {
    local directory=$1

    find "$directory" -name 'features-*.dump' -type f | sort -r | tail -n "+$((KEEP + 1))" |
        while IFS= read -r old; do
            log "removing $old"
            rm -- "$old"
        done
}

restore_help() {
    cat <<'TEXT'
To restore, stop the trainer first:

    kubectl -n heron-prod patch cronjob nightly-training -p '{"spec":{"suspend":true}}'

then run

pretend() {
    pg_restore --clean --if-exists --dbname features "$1"
}

by hand, and start it again. The function above is an example in a text, not one of this script.
TEXT
}

main() {
    local directory=${1:-}
    local target

    if [[ -z $directory ]]; then
        restore_help
        die "say where the dumps are kept"
    fi
    target="$directory/features-$(date +%F).dump"
    log "dumping to $target"
    pg_dump --format=custom --file="$target.part" features
    verify "$target.part"
    mv -- "$target.part" "$target"
    rotate "$directory"
}

main "$@"
