"""Files that make other programs run something by themselves, by who runs it."""

from __future__ import annotations

# Below the person's home folder.
SHELLS = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"),
    *(".login", ".inputrc", ".config/fish", ".config/environment.d", ".pam_environment"),
)
SESSIONS = (
    *(".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".config/autostart"),
    *(".config/systemd", ".local/share/systemd", "Library/LaunchAgents"),
)
OWN_GIT = (".gitconfig", ".config/git")
OWN_EDITORS = (".vimrc", ".vim", ".config/nvim", ".emacs", ".emacs.d")

# Relative to wherever a project begins, in lower case.
GIT = (".githooks", ".husky", ".pre-commit-config.yaml", ".gitmodules")
BUILD_SERVERS = (
    ".github/workflows",
    ".github/actions",
    ".gitlab-ci.yml",
    ".circleci",
    ".travis.yml",
    "jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".woodpecker",
    ".forgejo/workflows",
    ".gitea/workflows",
)
EDITORS = (".vscode", ".idea", ".zed", ".devcontainer", ".devcontainer.json", ".envrc")
AGENTS = (".mcp.json", ".cursor", ".claude", ".gemini", ".codex", ".windsurf")
# What of git's own folder decides what git runs; the rest of it is written whenever someone commits.
WITHIN_GIT = (".git/hooks", ".git/config", ".git/config.worktree", ".git/info/attributes")
