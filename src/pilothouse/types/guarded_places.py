"""The one list of places that need a word of their own: where keys are, and what makes programs run by themselves.

The guard of the file tools and both sandboxes read it. The guard protects all of it, by name and by identity. A sandbox
hides the secrets of the person and of the system, and keeps as it is what starts by itself in a command's folder. Words
for assistants it does not keep: they change with a branch, and git could not switch to one.

Names that may stand anywhere are in lower case.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal

import msgspec

# "own" is this program's; a "secret" is neither read nor written; what "starts" by itself, or "steers" an assistant
# with words, is not written.
Kind = Literal["own", "secret", "starts", "steers"]


class Place(msgspec.Struct, frozen=True):
    """A file or a folder with everything in it."""

    parts: tuple[str, ...]
    kind: Kind
    why: str

    @property
    def may_be_read(self) -> bool:
        """Return whether only changing it needs a word of its own."""
        return self.kind in ("starts", "steers")

    @property
    def path(self) -> str:
        """Return its way from wherever it is reached from."""
        return "/".join(self.parts)


def _places(kind: Kind, why: str, paths: Iterable[str]) -> tuple[Place, ...]:
    return tuple(Place(tuple(path.split("/")), kind, why) for path in paths)


def _secret(why: str, *paths: str) -> tuple[Place, ...]:
    return _places("secret", why, paths)


def _starts(why: str, *paths: str) -> tuple[Place, ...]:
    return _places("starts", why, paths)


def _steers(why: str, *paths: str) -> tuple[Place, ...]:
    return _places("steers", why, paths)


_KEYS = "It holds keys or passwords."
_CLOUD = "It holds the keys of a cloud account."
_REGISTRY = "It holds the keys of a package registry."
_CODE_HOST = "It holds the keys of a code host."
_DATABASE = "It holds passwords of databases."
_ASSISTANT = "It holds the keys and conversations of an assistant."
_BROWSER = "It holds what a browser or a messenger remembers: passwords, cookies, messages."
_HISTORY = "It holds what was typed, passwords among it."
_DESKTOP = "Whoever reads it can look at your screen."
_ENVIRONMENT = "It holds a project's keys and passwords."
_PRIVATE_KEY = "It holds a private key."
_STATE = "It holds what was set up, passwords in plain text."
OWN = "It belongs to Pilothouse itself: its settings, its secrets, what it remembers."

_SHELL = "It runs whenever a shell starts."
_SESSION = "It starts programs by itself."
_GIT = "It decides what git runs."
_VERSIONS = "It decides what version control runs."
_CI = "It decides what the build server runs."
_EDITOR = "It decides what an editor runs."
_ENTERED = "It runs when its folder is entered."
_PACKAGES = "It decides what a package manager runs, and where packages come from."
_PYTHON = "It runs whenever Python starts."
_AGENTS = "It decides what an assistant may do or start."
_WORDS = "It tells assistants what to do."
_INTERPRETER = "It runs whenever an interpreter or a debugger starts."

_CHROMIUM = ("google-chrome", "google-chrome-beta", "chromium", "BraveSoftware", "microsoft-edge", "vivaldi", "opera")
_APPS = "Library/Application Support"
_CODE_EDITORS = tuple(
    f"{place}/{name}/User"
    for place in (".config", _APPS)
    for name in ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
)

# Below the person's home folder.
HOME = (
    *_secret(_KEYS, ".ssh", ".gnupg", ".pki", ".password-store", ".netrc", "_netrc", ".authinfo", ".authinfo.gpg"),
    *_secret(_KEYS, ".vault-token", ".config/op", ".op", ".config/sops", ".config/age", ".age", ".config/Bitwarden"),
    *_secret(_KEYS, ".config/Bitwarden CLI", ".config/keepassxc", ".local/share/keyrings", ".local/share/kwalletd"),
    *_secret(_KEYS, "Library/Keychains", "Library/Group Containers/2BUA8C4S2C.com.1password", ".smbcredentials"),
    *_secret(_KEYS, ".config/rclone", ".rclone.conf", ".config/borg"),
    *_secret(_KEYS, ".config/ngrok", ".ngrok2", ".config/configstore"),
    *_secret(_KEYS, ".msmtprc", ".config/msmtp", ".fetchmailrc", ".mbsyncrc", ".config/hub", ".config/snowflake"),
    *_secret(_CLOUD, ".aws", ".azure", ".config/gcloud", ".oci", ".aliyun", ".bluemix", ".boto", ".s3cfg", ".s3cmd"),
    *_secret(_CLOUD, ".kube", ".docker", ".dockercfg"),
    *_secret(_CLOUD, ".config/containers/auth.json", ".config/helm/registry", ".config/argocd"),
    *_secret(_CLOUD, ".config/doctl", ".config/hcloud", ".config/scw", ".config/linode-cli", ".config/exoscale"),
    *_secret(_CLOUD, ".fly", ".config/heroku", ".local/share/heroku"),
    *_secret(_CLOUD, ".wrangler", ".config/.wrangler", ".config/netlify"),
    *_secret(_CLOUD, ".netlify", ".vercel", ".local/share/com.vercel.cli", ".railway", ".config/supabase", ".supabase"),
    *_secret(_CLOUD, ".pulumi", ".terraform.d/credentials.tfrc.json", ".terraformrc"),
    *_secret(_CLOUD, ".config/stripe", ".databrickscfg"),
    *_secret(_CLOUD, ".edgerc", ".config/openstack", ".config/firebase", ".config/vultr-cli.yaml", ".vultr-cli.yaml"),
    *_secret(_REGISTRY, ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml"),
    *_secret(_REGISTRY, ".gem/credentials", ".local/share/gem/credentials", ".bundle/config", ".composer/auth.json"),
    *_secret(_REGISTRY, ".config/composer/auth.json", ".m2/settings.xml", ".m2/settings-security.xml"),
    *_secret(_REGISTRY, ".gradle/gradle.properties", ".ivy2/.credentials", ".sbt/.credentials", ".hex/hex.config"),
    *_secret(_REGISTRY, ".pub-cache/credentials.json", ".jfrog", ".config/pypoetry/auth.toml"),
    *_secret(_REGISTRY, ".local/share/uv/credentials", ".conan/.conan.db"),
    *_secret(_CODE_HOST, ".git-credentials", ".config/git/credentials"),
    *_secret(_CODE_HOST, ".git-credential-cache", ".cache/git/credential"),
    *_secret(_CODE_HOST, ".config/gh", ".config/glab-cli", ".config/tea", ".config/berg-cli", ".config/lab"),
    *_secret(_DATABASE, ".pgpass", ".my.cnf", ".mylogin.cnf", ".pg_service.conf", ".config/usql", ".mongorc.js"),
    *_secret(_DATABASE, ".dbvis", ".local/share/DBeaverData", f"{_APPS}/DBeaverData", ".cassandra/credentials"),
    *_secret(_ASSISTANT, ".claude", ".claude.json", ".config/claude", ".codex", ".gemini", ".qwen", ".copilot"),
    *_secret(_ASSISTANT, ".codeium", ".lmstudio/credentials", ".config/amp", ".local/share/amp", ".config/crush"),
    *_secret(_ASSISTANT, ".config/github-copilot", ".continue", ".aider", ".local/share/opencode", ".config/goose"),
    *_secret(_ASSISTANT, ".huggingface", ".cache/huggingface/token"),
    *_secret(_ASSISTANT, ".cache/huggingface/stored_tokens", ".ollama/id_ed25519"),
    *_secret(_ASSISTANT, ".config/io.datasette.llm/keys.json", ".config/Claude", f"{_APPS}/Claude", ".kaggle"),
    *_secret(_ASSISTANT, *(f"{place}/globalStorage" for place in _CODE_EDITORS)),
    *_secret(OWN, ".local/share/pilothouse", ".config/pilothouse", f"{_APPS}/pilothouse"),
    *_secret(_BROWSER, ".mozilla", ".thunderbird", ".librewolf", ".waterfox", ".zen", ".cache/mozilla"),
    *_secret(_BROWSER, *(f".config/{name}" for name in _CHROMIUM)),
    *_secret(_BROWSER, ".config/Signal", ".config/Slack", ".config/discord", ".config/Element"),
    *_secret(_BROWSER, ".local/share/TelegramDesktop", ".purple", ".config/weechat", ".config/evolution"),
    *_secret(_BROWSER, "snap/firefox/common", "snap/chromium/common", "snap/thunderbird/common", "snap/brave/current"),
    *_secret(_BROWSER, *(f".var/app/{name}" for name in (
        "org.mozilla.firefox", "org.mozilla.Thunderbird", "org.chromium.Chromium", "com.google.Chrome",
        "com.brave.Browser", "com.microsoft.Edge", "io.gitlab.librewolf-community", "com.vivaldi.Vivaldi",
        "org.signal.Signal", "com.slack.Slack", "com.discordapp.Discord",
        "org.telegram.desktop", "org.keepassxc.KeePassXC", "com.bitwarden.desktop",
    ))),
    *_secret(_BROWSER, *(f"{_APPS}/{name}" for name in (
        "Firefox", "Thunderbird", "Google/Chrome", "Chromium", "BraveSoftware", "Microsoft Edge", "Vivaldi", "Arc",
        "Signal", "Slack", "discord", "Bitwarden",
    ))),
    *_secret(_BROWSER, "Library/Cookies", "Library/Safari", "Library/Containers/com.apple.Safari", "Library/Messages"),
    *_secret(_HISTORY, ".bash_history", ".bash_sessions", ".zsh_history", ".zhistory", ".zsh_sessions", ".histfile"),
    *_secret(_HISTORY, ".local/share/fish/fish_history", ".ash_history", ".sh_history"),
    *_secret(_HISTORY, ".ksh_history", ".local/share/atuin"),
    *_secret(_HISTORY, ".local/share/powershell/PSReadLine", ".python_history", ".local/state/python_history"),
    *_secret(_HISTORY, ".node_repl_history", ".irb_history", ".local/share/irb/history", ".lesshst", ".viminfo"),
    *_secret(_HISTORY, ".local/state/less", ".local/state/nvim/shada", ".local/share/nvim/shada", ".wget-hsts"),
    *_secret(_HISTORY, ".psql_history", ".mysql_history", ".mariadb_history", ".sqlite_history", ".rediscli_history"),
    *_secret(_HISTORY, ".mongosh", ".dbshell", ".duckdb_history", ".config/pgcli/history", ".local/share/mycli"),
    *_secret(_DESKTOP, ".Xauthority", ".ICEauthority"),
    *_starts(_SHELL, ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bashrc.d"),
    *_starts(_SHELL, ".profile", ".profile.d", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".oh-my-zsh"),
    *_starts(_SHELL, ".config/zsh", ".config/bash", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".xonshrc"),
    *_starts(_SHELL, ".config/fish", ".config/nushell", ".config/powershell", ".config/xonsh", ".config/starship.toml"),
    *_starts(_SHELL, ".config/environment.d", ".pam_environment", ".tmux.conf", ".config/tmux", ".screenrc"),
    *_starts(_SESSION, ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".config/autostart", ".config/upstart"),
    *_starts(_SESSION, ".config/autostart-scripts", ".config/plasma-workspace"),
    *_starts(_SESSION, ".config/systemd", ".local/share/systemd", ".config/containers/systemd"),
    *_starts(_SESSION, ".config/sxhkd", ".xbindkeysrc", ".hammerspoon", ".config/karabiner", ".skhdrc", ".yabairc"),
    *_starts(_SESSION, ".local/share/dbus-1", ".local/share/applications"),
    *_starts(_SESSION, "Library/LaunchAgents", "Library/LaunchDaemons"),
    *_starts(_SESSION, *(f".config/{name}" for name in ("i3", "sway", "hypr", "openbox", "labwc", "awesome", "bspwm"))),
    *_starts(_GIT, ".gitconfig", ".config/git", ".git-templates", ".git-template", ".git_template"),
    *_starts(_VERSIONS, ".hgrc", ".config/hg", ".subversion/config", ".jjconfig.toml", ".config/jj"),
    *_starts(_ENTERED, ".config/direnv", ".direnvrc", ".config/mise"),
    *_starts(_EDITOR, ".vimrc", ".gvimrc", ".ideavimrc", ".vim", ".exrc", ".nvimrc", ".config/nvim", ".config/vim"),
    *_starts(_EDITOR, ".emacs", ".emacs.el", ".emacs.d", ".config/emacs", ".config/doom", ".doom.d", ".spacemacs"),
    *_starts(_EDITOR, ".config/zed", ".config/helix", ".config/sublime-text", ".vscode/argv.json"),
    *_starts(_EDITOR, *_CODE_EDITORS),
    *_starts(_PACKAGES, ".cargo/config", ".cargo/config.toml", ".config/pip", ".pip"),
    *_starts(_PACKAGES, ".config/uv", ".yarnrc", ".gemrc"),
    *_starts(_PACKAGES, ".config/pnpm", ".bunfig.toml", ".condarc", ".mavenrc", ".m2/extensions.xml", ".gradle/init.d"),
    *_starts(_PACKAGES, ".gradle/init.gradle", ".gradle/init.gradle.kts", ".sbt"),
    *_starts(_PACKAGES, ".npm-init.js", ".nuget/NuGet", ".config/NuGet"),
    *_starts(_AGENTS, ".lmstudio/mcp.json", ".config/opencode", f"{_APPS}/opencode", f"{_APPS}/Zed", ".config/mcp"),
    *_starts(_INTERPRETER, ".ipython", ".jupyter", ".irbrc", ".pryrc", ".Rprofile", ".julia/config", ".gdbinit"),
    *_starts(_INTERPRETER, ".config/gdb", ".lldbinit", ".pythonrc", ".pythonrc.py", ".perldb"),
    *_starts(_INTERPRETER, ".pdbrc", ".ghci", ".psqlrc", ".sqliterc"),
    *_starts(_SHELL, ".config/kitty", ".config/alacritty", ".wezterm.lua", ".config/wezterm", ".config/ghostty"),
)  # fmt: skip

# Wherever they stand: what a project brings, or gets.
ANYWHERE = (
    *_starts(_GIT, ".git", "git~1", ".githooks", ".husky", ".huskyrc", ".huskyrc.json", ".huskyrc.js", ".gitmodules"),
    *_starts(_GIT, ".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml", ".overcommit.yml"),
    *_starts(_GIT, ".lefthook", ".lefthook-local", "captainhook.json"),
    *_starts(_VERSIONS, ".hg/hgrc", ".hg/hgrc-not-shared", ".hg/sharedpath", ".jj/repo/config.toml"),
    *_starts(_CI, ".github/workflows", ".github/actions", ".gitlab-ci.yml", ".gitlab-ci.yaml", ".gitlab/ci"),
    *_starts(_CI, ".circleci", ".forgejo/workflows", ".forgejo/actions", ".gitea/workflows", ".gitea/actions"),
    *_starts(_CI, ".travis.yml", "jenkinsfile", ".jenkins", "azure-pipelines.yml", "azure-pipelines.yaml"),
    *_starts(_CI, ".azure-pipelines", ".azuredevops", "bitbucket-pipelines.yml", ".drone.yml", ".drone.star"),
    *_starts(_CI, ".drone.jsonnet", ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", "appveyor.yml"),
    *_starts(_CI, ".appveyor.yml", "cloudbuild.yaml", "cloudbuild.yml", "cloudbuild.json", ".buildkite", ".semaphore"),
    *_starts(_CI, ".teamcity", "codefresh.yml", ".codefresh", "wercker.yml", ".cirrus.yml", ".cirrus.star"),
    *_starts(_CI, "buildspec.yml", "buildspec.yaml", ".build.yml", ".builds", ".tekton", ".harness"),
    *_starts(_CI, "screwdriver.yaml", "bamboo-specs", "shippable.yml", ".scrutinizer.yml", ".bazelci"),
    *_starts(_CI, ".evergreen.yml", ".prow.yaml", ".zuul.yaml", "zuul.yaml", ".zuul.d", ".vela.yml", ".gitpod.yml"),
    *_starts(_EDITOR, ".vscode", ".idea", ".zed", ".fleet", ".nova", ".idx", ".devcontainer", ".devcontainer.json"),
    *_starts(_EDITOR, ".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".dir-locals.el", ".dir-locals-2.el"),
    *_starts(_EDITOR, ".codesandbox", ".replit", ".gitpod", ".ona", ".theia"),
    *_starts(_ENTERED, ".envrc", ".autoenv", ".autoenv.zsh", "mise.toml", "mise.local.toml", ".mise.toml"),
    *_starts(_ENTERED, ".mise.local.toml", ".mise", "mise/config.toml", ".config/mise", ".config/mise.toml"),
    *_starts(_ENTERED, ".rtx.toml"),
    *_starts(_PACKAGES, ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".pnpmfile.cjs"),
    *_starts(_PACKAGES, ".pnpmfile.mjs", "pnpmfile.js", "bunfig.toml", ".cargo/config", ".cargo/config.toml", ".mvn"),
    *_starts(_PACKAGES, ".gemrc", "pip.conf", "pip.ini", ".condarc", "nuget.config", ".jvmopts"),
    *_starts(_PYTHON, "sitecustomize.py", "usercustomize.py"),
    *_starts(_INTERPRETER, ".rprofile", ".pdbrc", ".irbrc", ".pryrc", ".ghci", ".gdbinit", ".lldbinit"),
    *_starts(_AGENTS, ".mcp.json", "mcp.json", ".cursor", ".claude", ".claude.json", ".gemini", ".codex", ".qwen"),
    *_starts(_AGENTS, ".windsurf", ".cline", ".roo", ".roomodes", ".kilocode", ".kiro", ".amazonq", ".aider.conf.yml"),
    *_starts(_AGENTS, ".continue", ".junie", ".augment", ".trae", ".goose", ".opencode", "opencode.json"),
    *_starts(_AGENTS, "opencode.jsonc", "crush.json", ".crush.json", ".crush", ".factory", ".openhands", ".agents"),
    *_starts(_AGENTS, ".agent", ".warp", ".copilot", ".github/copilot", ".github/hooks", ".amp"),
    *_steers(_WORDS, "agents.md", "agents.override.md", "agent.md", "claude.md", "claude.local.md", "gemini.md"),
    *_steers(_WORDS, "qwen.md", "crush.md", "warp.md", ".cursorrules", ".windsurfrules", ".clinerules", ".roorules"),
    *_steers(_WORDS, ".continuerules", ".augment-guidelines", ".goosehints", ".openhands_instructions", ".rules"),
    *_steers(_WORDS, ".github/copilot-instructions.md", ".github/instructions", ".github/prompts", ".github/agents"),
    *_steers(_WORDS, ".github/chatmodes"),
    *_secret(_ENVIRONMENT, ".dev.vars", ".streamlit/secrets.toml", ".vault_pass", ".vault-pass", ".vault_password"),
    *_secret(_ENVIRONMENT, ".htpasswd", "local.settings.json"),
    *_secret(_KEYS, ".ssh", "authorized_keys", ".netrc", ".pgpass", ".pypirc", ".git-credentials", ".dockercfg"),
    *_secret(_KEYS, ".dockerconfigjson"),
    *_secret(_PRIVATE_KEY, "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "secring.gpg"),
)  # fmt: skip
# Likewise, but only as the last name of a path. `*` stands for any characters.
FILES = (
    *_starts(_GIT, "lefthook.*", "lefthook-local.*", ".lefthook.*", ".lefthook-local.*", ".simple-git-hooks.*"),
    *_starts(_GIT, "simple-git-hooks.*"),
    *_starts(_CI, "jenkinsfile.*", "*.jenkinsfile", "azure-pipelines-*.yml"),
    *_starts(_EDITOR, "*.code-workspace", "*.sublime-project"),
    *_starts(_ENTERED, "mise.*.toml", ".mise.*.toml"),
    *_secret(_ENVIRONMENT, ".env", ".env.*", "*.env", ".dev.vars.*"),
    *_secret(_KEYS, "*.kdbx", "*.kdb", "*.keychain", "*.keychain-db", "client_secret*.json"),
    *_secret(_PRIVATE_KEY, "*.pem", "*.key", "*.ppk", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ovpn"),
    *_secret(_STATE, "*.tfstate", "*.tfstate.backup"),
)
# Of those not these: examples that are meant to be read, and the half of a key that everybody may have.
PLAIN = (
    *(f"{name}{ending}" for name in (".env*", "*.env") for ending in ("example", "sample", "template", "dist")),
    *("example.env", "sample.env", "template.env", ".env.schema", ".env.vault"),
    *("*cert.pem", "*certs.pem", "*certificate.pem", "*chain.pem", "*ca.pem", "*bundle.pem", "dhparam*.pem"),
    *("*pub.pem", "*pubkey.pem", "*public*.pem", "*pub.key", "*public*.key"),
)  # fmt: skip
# What of git's own folder decides what git runs; the rest of it is written whenever someone commits.
WITHIN_GIT = (".git/hooks", ".git/config", ".git/config.worktree", ".git/info/attributes")
# The last name of a path: a folder with such a file, and a few more, is a repository to git, settings and all.
REPOSITORY_FILE = Place(("head",), "starts", _GIT)

# From the root of the disk.
SYSTEM = (
    *_secret("It is what running programs hold.", "proc"),
    *_secret(_KEYS, "etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/sudoers", "etc/sudoers.d"),
    *_secret(_KEYS, "etc/ssh", "etc/ssl/private", "etc/krb5.keytab", "etc/docker/key.json", "etc/kubernetes/pki"),
    *_secret(_KEYS, "etc/kubernetes/admin.conf", "etc/rancher/k3s/k3s.yaml", "etc/wireguard", "etc/openvpn"),
    *_secret(_KEYS, "etc/NetworkManager/system-connections", "etc/letsencrypt/live", "etc/letsencrypt/archive"),
    *_secret(_KEYS, "var/lib/sss", "var/lib/kubelet/pki", "run/secrets", "var/run/secrets"),
    *_starts(_SESSION, "etc/crontab", "etc/cron.d", "etc/cron.hourly", "etc/cron.daily", "etc/cron.weekly"),
    *_starts(_SESSION, "etc/cron.monthly", "etc/anacrontab", "var/spool/at"),
    *_starts(_SESSION, "etc/systemd", "etc/init.d", "etc/rc.local"),
    *_starts(_SESSION, "usr/lib/systemd", "lib/systemd", "etc/ld.so.preload"),
    *_starts(_SESSION, "etc/passwd", "etc/pam.d", "etc/xdg/autostart"),
    *_starts(_SESSION, "etc/udev", "etc/apt/apt.conf.d", "Library/LaunchAgents", "Library/LaunchDaemons"),
    *_secret("It is what the system starts for others.", "var/spool/cron"),
    *_starts(_SHELL, "etc/profile", "etc/profile.d", "etc/bash.bashrc", "etc/zsh", "etc/environment", "etc/fish"),
    *_starts(_GIT, "etc/gitconfig"),
)  # fmt: skip

# Variables that say where something is instead of where it usually is in the home folder.
MOVED_BY = {
    "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache", "GNUPGHOME": ".gnupg", "PASSWORD_STORE_DIR": ".password-store", "NETRC": ".netrc",
    "OP_CONFIG_DIR": ".config/op", "SOPS_AGE_KEY_FILE": ".config/sops/age/keys.txt", "VAULT_TOKEN_FILE": ".vault-token",
    "RCLONE_CONFIG": ".config/rclone/rclone.conf", "AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials",
    "AWS_CONFIG_FILE": ".aws/config", "AZURE_CONFIG_DIR": ".azure", "CLOUDSDK_CONFIG": ".config/gcloud",
    "GOOGLE_APPLICATION_CREDENTIALS": ".config/gcloud/application_default_credentials.json", "BOTO_CONFIG": ".boto",
    "OCI_CLI_CONFIG_FILE": ".oci/config", "KUBECONFIG": ".kube/config", "DOCKER_CONFIG": ".docker",
    "REGISTRY_AUTH_FILE": ".config/containers/auth.json", "TF_CLI_CONFIG_FILE": ".terraformrc",
    "PULUMI_HOME": ".pulumi",
    "NPM_CONFIG_USERCONFIG": ".npmrc", "npm_config_userconfig": ".npmrc", "CARGO_HOME": ".cargo",
    "COMPOSER_HOME": ".composer", "GRADLE_USER_HOME": ".gradle", "BUNDLE_USER_CONFIG": ".bundle/config",
    "GH_CONFIG_DIR": ".config/gh", "GLAB_CONFIG_DIR": ".config/glab-cli", "PGPASSFILE": ".pgpass",
    "PGSERVICEFILE": ".pg_service.conf", "MYSQL_TEST_LOGIN_FILE": ".mylogin.cnf", "CLAUDE_CONFIG_DIR": ".claude",
    "CODEX_HOME": ".codex", "HF_HOME": ".cache/huggingface", "HF_TOKEN_PATH": ".cache/huggingface/token",
    "KAGGLE_CONFIG_DIR": ".kaggle", "HISTFILE": ".bash_history", "PSQL_HISTORY": ".psql_history",
    "MYSQL_HISTFILE": ".mysql_history", "SQLITE_HISTORY": ".sqlite_history", "NODE_REPL_HISTORY": ".node_repl_history",
    "PYTHON_HISTORY": ".python_history", "LESSHISTFILE": ".lesshst", "XAUTHORITY": ".Xauthority",
    "ICEAUTHORITY": ".ICEauthority", "ZDOTDIR": "", "BASH_ENV": ".bashrc", "ENV": ".profile", "INPUTRC": ".inputrc",
    "PYTHONSTARTUP": ".pythonrc", "GIT_CONFIG_GLOBAL": ".gitconfig", "GIT_TEMPLATE_DIR": ".git-templates",
    "HGRCPATH": ".hgrc", "PIP_CONFIG_FILE": ".config/pip", "IPYTHONDIR": ".ipython", "JUPYTER_CONFIG_DIR": ".jupyter",
}  # fmt: skip
_ZSH = (".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".zsh_history", ".zhistory")
# Where something usually is in the home folder, and what a variable says instead.
_Variables = tuple[tuple[str, str], ...]
# Nothing of a person's is kept here, whatever a variable says.
_DEVICES = ("/dev", "/proc", "/sys")


def of_person(home: str, environ: Mapping[str, str]) -> tuple[tuple[str, Place], ...]:
    """Return every place below a home folder with its path; also where a variable moves it to."""
    return _of_person(home, _moving(environ))


def by_first_name(home: str, environ: Mapping[str, str], kind: Kind) -> Mapping[str, tuple[str, ...]]:
    """Return the paths of a person's places of a kind by the name that each has in the home folder, in lower case.

    Those that are elsewhere have none.
    """
    return _by_first_name(home, _moving(environ), kind)


def _moving(environ: Mapping[str, str]) -> _Variables:
    given = dict(environ)
    return tuple((usual, given[name]) for name, usual in MOVED_BY.items() if given.get(name))


# Every command asks for these, and neither the list nor the variables change.
@lru_cache(maxsize=8)
def _of_person(home: str, variables: _Variables) -> tuple[tuple[str, Place], ...]:
    return tuple(_below(home, variables))


@lru_cache(maxsize=16)
def _by_first_name(home: str, variables: _Variables, kind: Kind) -> Mapping[str, tuple[str, ...]]:
    inside = home.rstrip("/") + "/"
    found: dict[str, tuple[str, ...]] = {}
    for path, place in _of_person(home, variables):
        if place.kind == kind:
            first = path.removeprefix(inside).partition("/")[0].lower() if path.startswith(inside) else ""
            found[first] = (*found.get(first, ()), path)
    return found


def _below(home: str, variables: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Place]]:
    for place in HOME:
        yield f"{home}/{place.path}", place
    for usual, value in variables:
        for moved in filter(os.path.isabs, value.split(os.pathsep)):
            for path, place in _moved(usual, os.path.normpath(moved)):
                # All of the home folder, or of the machine, is never meant.
                if not is_in(home, path) and not any(is_in(path, device) for device in _DEVICES):
                    yield path, place


def of_system() -> Iterator[tuple[str, Place]]:
    """Yield every place of the system with its path."""
    return ((f"/{place.path}", place) for place in SYSTEM)


def _moved(usual: str, folder: str) -> Iterator[tuple[str, Place]]:
    for place in HOME:
        if is_in(usual, place.path):
            yield folder, place
        elif is_in(place.path, usual) if usual else place.path in _ZSH:
            yield f"{folder}/{place.path.removeprefix(usual).lstrip('/')}", place


def is_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder or lies in it, by whole components."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths without those that lie in another of them."""
    kept: list[str] = []
    # What lies in a folder comes right after it, before whatever only begins like it.
    for path in sorted(set(paths), key=lambda path: path.replace("/", "\0")):
        if not kept or not is_in(path, kept[-1]):
            kept.append(path)
    return tuple(sorted(kept))
