# Checks what building, testing, fuzzing and linting need, and installs it with apt. ./dev sources this file and defines
# say and die.

have_command() { command -v "$1" >/dev/null 2>&1; }
have_header() { echo "#include <$1>" | "${CXX:-c++}" -std=c++20 -E -x c++ - >/dev/null 2>&1; }
compiler_major() { "$1" -dumpversion 2>/dev/null | cut -d. -f1; }
can_fuzz() {
    local out
    out=$(mktemp)
    echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
        clang++ -x c++ - -fsanitize=fuzzer,address,undefined -o "$out" >/dev/null 2>&1
    local status=$?
    rm -f "$out"
    return $status
}

apt_install() {
    local command=(apt-get install -y --no-install-recommends "$@")
    have_command apt-get || die "needs these packages (Debian names): $*. Install them with this system's package manager."
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        have_command sudo || die "needs packages; as root run: apt-get update && ${command[*]}"
        as_root=(sudo)
    fi
    say "installing $*"
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${command[@]}" ||
        die "apt could not install them; as root run: ${command[*]}"
}

# g++ 12 is the oldest compiler that builds this code without warnings. Ubuntu 22.04 has it in addition to its default.
choose_compiler() {
    [ -z "${CXX:-}" ] || return 0
    local major
    major=$(compiler_major c++ || true)
    if [ -n "$major" ] && [ "$major" -lt 12 ] && have_command g++-12; then
        export CXX=g++-12
    fi
}

need_build_tools() {
    local missing=()
    have_command cmake || missing+=(cmake)
    have_command ninja || missing+=(ninja-build)
    have_command ccache || missing+=(ccache)
    have_command pkg-config || missing+=(pkg-config)
    choose_compiler
    if ! have_command "${CXX:-c++}"; then
        missing+=(g++)
    elif [ -z "${CXX:-}" ] && [ "$(compiler_major c++)" -lt 12 ]; then
        missing+=(g++-12)
    fi
    have_header openssl/ssl.h || missing+=(libssl-dev)
    have_header boost/asio.hpp || missing+=(libboost-dev)
    have_header spdlog/spdlog.h || missing+=(libspdlog-dev)
    have_header CLI/CLI.hpp || missing+=(libcli11-dev)
    have_header xxhash.h || missing+=(libxxhash-dev)
    have_header catch2/catch.hpp || have_header catch2/catch_all.hpp || missing+=(catch2)
    [ ${#missing[@]} -eq 0 ] || { apt_install "${missing[@]}" && want_fast_aes; }
    want_page "${#missing[@]}"
    choose_compiler
}

# This optional library halves the time of AES-GCM. On processors with VAES and AVX-512 it takes a quarter of the time.
want_fast_aes() {
    grep -qw pclmulqdq /proc/cpuinfo 2>/dev/null && have_command apt-get && [ "$(id -u)" -eq 0 ] || return 0
    have_header intel-ipsec-mb.h || (apt_install libipsec-mb-dev) || say "built without libipsec-mb-dev"
}

# The live page draws with Chart.js; without it the tools have no page. It is optional: if nothing else is missing, it
# is not installed with sudo, which might ask for a password.
want_page() {  # want_page <number of packages that were missing>
    compgen -G '/usr/share/javascript/chart.js/*.js' >/dev/null || ! have_command apt-get && return 0
    [ "$(id -u)" -eq 0 ] || [ "$1" -gt 0 ] || return 0
    (apt_install libjs-chart.js) || say "built without the live page"
}

need_fuzzer() {
    have_command clang++ || apt_install clang
    can_fuzz && return 0
    # Newer releases have the sanitizer runtime in a separate package.
    apt_install "libclang-rt-$(compiler_major clang++)-dev"
    can_fuzz || die "clang++ cannot link with -fsanitize=fuzzer,address,undefined"
}

need_linters() {
    local missing=()
    have_command clang-format || missing+=(clang-format)
    have_command clang-tidy || missing+=(clang-tidy)
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
}

# Sets $proselint to the command, which is installed under build/ if it is missing.
need_proselint() {
    proselint=proselint
    if have_command proselint; then return; fi
    proselint=$root/build/proselint/bin/proselint
    if [ -x "$proselint" ]; then return; fi
    python3 -m venv "$root/build/proselint" 2>/dev/null || { apt_install python3-venv && python3 -m venv "$root/build/proselint"; }
    "$root/build/proselint/bin/pip" install --quiet proselint==0.14.0 setuptools
}

# Tests that need a missing tool would be skipped.
need_test_tools() {
    local missing=()
    have_command python3 || missing+=(python3)
    have_command ip || missing+=(iproute2)
    have_command sysctl || missing+=(procps)
    have_command ping || missing+=(iputils-ping)
    have_command rsync || missing+=(rsync)
    have_command fusermount3 || have_command fusermount || missing+=(fuse3)
    /usr/bin/python3 -c 'import fusepy' 2>/dev/null || missing+=(python3-fusepy)
    have_command lowntfs-3g || missing+=(ntfs-3g)
    PATH=$PATH:/usr/sbin have_command mount.exfat-fuse || missing+=(exfat-fuse)
    PATH=$PATH:/usr/sbin have_command mkfs.exfat || missing+=(exfatprogs)
    PATH=$PATH:/usr/sbin have_command mkfs.xfs || missing+=(xfsprogs)
    PATH=$PATH:/usr/sbin have_command mkfs.btrfs || missing+=(btrfs-progs)
    PATH=$PATH:/usr/sbin have_command nft || missing+=(nftables)
    have_command iperf3 || missing+=(iperf3)
    PATH=$PATH:/usr/sbin have_command sshd || missing+=(openssh-server)
    have_command ssh || missing+=(openssh-client)
    have_command strace || missing+=(strace)
    /usr/bin/python3 -c 'import fusepy' 2>/dev/null || /usr/bin/python3 -c 'import fuse' 2>/dev/null ||
        missing+=(python3-fusepy)
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
    # Doxygen checks the public headers' comments. It is large and only needed by developers, so that it is optional.
    have_command doxygen || (apt_install doxygen) || say "no doxygen: the public headers' comments are not checked"
}
