"""Programs that can run or overwrite something else because of a plain word they are given.

A pattern with `*` never covers them: no list of their dangerous words is ever complete. Those whose words are a command
stand in `danger_table`.
"""

from __future__ import annotations

import re

from pilothouse.permissions.danger_table import runners

_STARTERS = """
    sudo doas su runuser run0 pkexec setpriv lldb expect systemd-run systemctl service machinectl start-stop-daemon at
    batch crontab run-parts linux32 linux64 zellij dtach reptyr dbus-send gdbus busctl xdg-open open gio logrotate
    ssh-agent nsjail catchsegv ld.so rg ag ack ugrep tput logger make gmake ninja cmake ctest meson bazel buck gradle
    gradlew mvn mvnw ant rake just task tox nox rustc go gcc cc c++ g++ cpp clang clang++ ld as tcc javac pip gem
    composer apt apt-get aptitude dpkg rpm yum dnf zypper pacman apk brew port snap flatpak nix-env guix buildah ctr
    crictl helm lxd vagrant terraform ansible ansible-playbook pre-commit lefthook husky ldd pytest py.test nosetests
    behave unittest jest mocha vitest ava karma cypress playwright phpunit rspec cucumber eslint prettier stylelint
    webpack vite rollup parcel esbuild gulp grunt sphinx-build mkdocs scons waf invoke fab cookiecutter copier yo
    msbuild nuget sbt lein pants
"""
_SHELLS = """
    pdksh nu elvish xonsh pwsh powershell cmd
"""
_INTERPRETERS = """
    ipython bpython jupyter perl raku ruby irb jruby node nodejs deno ts-node tsx lua luajit tclsh wish php r rscript
    julia scala groovy jshell java kotlin ghci runghc runhaskell stack cabal guile racket sbcl clisp clojure clj
    elixir iex mix erl escript ocaml swift dart osascript octave matlab maxima gnuplot awk gawk mawk nawk sed ed red
    ex m4 dc jq yq tex latex pdftex pdflatex xetex xelatex luatex lualatex latexmk asy gs magick convert ffmpeg sqlite
    sqlite3 psql mysql mariadb mongosh mongo redis-cli duckdb
"""
_VIEWERS = "vi vim nvim view vimdiff gvim emacs emacsclient nano pico joe mcedit mc less more most man info lynx w3m"
_SENDERS = """
    scp sftp sshpass sshfs rsync rclone telnet nc ncat netcat socat curl wget wget2 aria2c ftp lftp tftp http https xh
    mail mailx mutt sendmail hg svn bzr fossil p4 darcs jj gh glab aws az gcloud openssl gpg
"""
_WRITERS = """
    tar bsdtar gtar cpio pax zip unzip 7z 7za 7zr rar unrar ar dd tee cp mv rm ln install truncate shred split csplit
    rename patch chmod chown chgrp chattr setfacl mkfifo mknod mount umount mkfs fdisk parted losetup kill pkill
    killall reboot shutdown halt poweroff passwd useradd usermod groupadd visudo vipw sysctl modprobe insmod iptables
    nft ip ifconfig sponge uniq xxd gzip gunzip bzip2 bunzip2 xz unxz zstd lz4 compress uncompress link unlink rmdir
    objcopy strip patchelf pdftotext qpdf dos2unix unix2dos xsltproc sox mktemp wall write
"""
OPEN_ENDED = frozenset(" ".join((_STARTERS, _SHELLS, _INTERPRETERS, _VIEWERS, _SENDERS, _WRITERS)).split())

# What git does with plain words and without starting anything that they name.
_GIT_WORDS = """
    add annotate blame branch cat-file check-attr check-ignore cherry count-objects describe diff diff-tree
    for-each-ref log ls-files ls-tree merge-base name-rev rev-list rev-parse shortlog show show-branch show-ref
    status whatchanged
"""
_GIT = frozenset(_GIT_WORDS.split())
# It begins where its digits and dots begin, so that it is tried there alone.
_VERSION = re.compile(r"(?:-|(?<!\d)\.|(?<![\d.]))\d[\d.]*+$")
_LOADER = re.compile(r"ld(-linux.*|-musl.*)?\.so(\.\d+)?")


def name_of(program: str) -> str:
    """Return a program's name without the folder it is in."""
    return program.rsplit("/", 1)[-1]


def without_version(name: str) -> str:
    """Return the name of a program without the version at its end."""
    return _VERSION.sub("", name)


def is_open_ended(words: tuple[str, ...]) -> bool:
    """Return whether a plain word more could make this command run or overwrite something else."""
    name = name_of(words[0]).casefold().removesuffix(".exe")
    plain = without_version(name)
    if plain == "git":
        return len(words) < 2 or words[1] not in _GIT
    known = {name, plain}
    return not known.isdisjoint(OPEN_ENDED) or not known.isdisjoint(runners()) or _LOADER.fullmatch(name) is not None
