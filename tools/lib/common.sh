# shellcheck shell=bash
# Shared by tools/*.sh and .ci/run: numbered steps, commands whose output goes to a log, packages, builds.
# A script sets `log` (a file) and `step_count`, then calls these.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# One a core, where there are two gigabytes of memory for each: what g++ takes for a unit of many sources.
jobs=${SLUICE_JOBS:-$(awk -v cores="$(nproc)" '/^MemAvailable:/ { n = int($2 / 2097152); print n < 1 ? 1 : n < cores ? n : cores }' /proc/meminfo)}
step_number=0
step_count=0  # the script says how many

# step TEXT: the line of progress that stands before a step's work.
step() {
    step_number=$((step_number + 1))
    printf '[%d/%d] %s\n' "$step_number" "$step_count" "$1"
}

# fail WHAT [HINT]: one message, exit 1.
fail() {
    printf 'error: %s\n' "$1" >&2
    if [ -n "${2:-}" ]; then
        printf '  hint: %s\n' "$2" >&2
    fi
    exit 1
}

# start_log FOLDER NAME: creates FOLDER/NAME, empty, and makes it the log.
start_log() {
    if ! { mkdir -p -- "$1" && : >"$1/$2"; } 2>/dev/null; then
        fail "cannot write in $1" "run it as the owner of that folder, or in a clone of your own"
    fi
    log=$1/$2
}

# logged WHAT COMMAND...: runs the command with its output in the log; when it fails, shows the log's end and exits.
logged() {
    local what=$1
    shift
    printf '\n== %s\n' "$*" >>"$log"
    if ! "$@" >>"$log" 2>&1 </dev/null; then
        printf -- '---- last lines of %s\n' "$log" >&2
        tail -n 25 -- "$log" >&2
        printf -- '----\n' >&2
        fail "$what failed; the whole output is in $log" "${hint:-}"
    fi
}

# packages_of GROUP...: the packages of these groups of tools/packages.txt, one a line.
packages_of() {
    local group
    for group in "$@"; do
        awk -v group="[$group]" '{ sub(/#.*/, "") } /^\[/ { on = ($1 == group); next } on && NF { print $1 }' \
            "$root/tools/packages.txt"
    done
}

# is_installed PACKAGE
is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# install_packages GROUP...: one step. Installs what is missing, or says what an administrator has to run.
install_packages() {
    local wanted missing=() package as_root=()
    mapfile -t wanted < <(packages_of "$@")
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        step "checking packages"
        fail "this is not a Debian system: it has no dpkg-query and apt-get" \
            "install what tools/packages.txt lists, then use --skip-packages"
    fi
    for package in "${wanted[@]}"; do
        is_installed "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        step "packages: all ${#wanted[@]} are installed"
        return
    fi
    step "installing ${#missing[@]} of ${#wanted[@]} packages: ${missing[*]}"
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            fail "packages are missing (${missing[*]}), and installing them takes root" \
                "ask an administrator to run: apt-get update && apt-get install -y ${missing[*]}"
        fi
        as_root=(sudo -n)
    fi
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=2
        -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o DPkg::Lock::Timeout=120)
    # A stale or broken list is no reason to stop as long as the packages can be had.
    "${apt[@]}" update >>"$log" 2>&1 </dev/null || printf 'apt-get update failed; going on\n' >>"$log"
    hint="check the network and its proxy (http_proxy, https_proxy) and /etc/apt/sources.list; packages come from there" \
        logged "installing packages" "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# enter_clone: goes to the project's root, and checks that CMake will find its presets.
enter_clone() {
    cd -- "$root" || fail "cannot enter $root"
    [ -f CMakePresets.json ] || fail "$root is not a complete clone: CMakePresets.json is missing"
}

# configure PRESET [CMAKE-OPTION...], build PRESET [TARGET...]: into build/PRESET.
configure() {
    local tool preset=$1
    shift
    for tool in cmake ninja g++; do
        command -v "$tool" >/dev/null || fail "$tool is not installed" "tools/packages.txt lists what is needed"
    done
    hint="remove build/$preset if it comes from another machine or compiler, and run this again" \
        logged "configuring with preset '$preset'" cmake --preset "$preset" "$@"
}

build() {
    local preset=$1 targets=()
    shift
    if [ $# -gt 0 ]; then
        targets=(--target "$@")
    fi
    logged "building with preset '$preset'" cmake --build --preset "$preset" --parallel "$jobs" "${targets[@]}"
}

# prepare_mpi: more ranks than cores are fine in tests; a root in a container is one that Open MPI may run as.
prepare_mpi() {
    export OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_mpi_yield_when_idle=1
    if [ "$(id -u)" -eq 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
}
