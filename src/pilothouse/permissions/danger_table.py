"""Which programs are dangerous with which words, and which run the words that they are given. All of it is said here.

A line of a family is `PROGRAM SUBCOMMAND… | WORDS | UNLESS`. Commas stand between alternatives; `*` is any letters. The
call is dangerous if one of WORDS is among those behind the subcommand, or always where there are none; not if the very
first word behind it is one of UNLESS, which is how a trial is asked for. `-f` is also found in `-uf`, `--force` also in
`--force=x` and `--for`. EVERYTHING is a whole folder in place of a file.
"""

from __future__ import annotations

import fnmatch
import re
from functools import cache

import msgspec

from pilothouse.permissions.shell_words import ANY, FILES, HOME, MARKS

FAMILIES = {
    "It takes the rights of the administrator.": """
        sudo,doas,pkexec,su,run0,runuser,visudo
    """,
    "It deletes whole folders.": """
        rm,unlink,rmdir,grm        | -r -R --recursive EVERYTHING
        rimraf,del-cli,srm
        python,perl,ruby,node,nodejs,php,deno,bun | *rmtree* *rm_rf* *rmsync(* *rm?-rf* *rm?-fr* *removedirs*
        python,perl,ruby,node,nodejs,php,deno,bun | *'rm',* *"rm",*
        git rm                     | -f --force
        tar,gtar,bsdtar            | --remove-files
        rsync                      | --delete* --del --remove-source-files | -n -an -avn --dry-run
        rclone delete,deletefile,purge,rmdir,rmdirs,sync,move,cleanup
        restic forget,prune
        borg delete,prune,compact
        robocopy                   | /mir /purge /MIR /PURGE
    """,
    "It deletes whatever it finds.": """
        find                       | -delete
    """,
    "It deletes files in a line of code.": """
        python,pypy,perl,ruby,node,nodejs,php,deno,bun | *unlink(* *unlinksync(* os.remove(* *[!a-z0-9_]os.remove(*
        perl,ruby                  | unlink?glob* unlink?[<$@]* *[!a-z0-9_./-]unlink?[<$@]*
        ruby                       | file.delete(* *[!a-z0-9_]file.delete(*
    """,
    "It erases disks or files for good.": """
        mkfs,mke2fs,mkswap,wipefs,shred,wipe,fdisk,sfdisk,cfdisk,gdisk,sgdisk,parted,blkdiscard,hdparm
        zfs,zpool destroy,rollback
        lvremove,vgremove,pvremove
        btrfs subvolume delete
        cryptsetup luksFormat,erase,luksErase
        diskutil                   | erase* partitionDisk zeroDisk
    """,
    "It writes over a file or a disk.": """
        dd                         | of=*
        truncate
    """,
    "It moves files to where nothing is kept.": """
        mv                         | /dev/null
    """,
    "It throws work away.": """
        git reset                  | --hard --merge --keep
        git clean                  || -n -nd -ndx -nx -nfd -nfdx --dry-run
        git restore                || --staged -S
        git restore                | -W --worktree
        git checkout               | -f --force -- . ./* ../* */ :/ -B
        git checkout HEAD*,@*      | *
        git switch                 | -f --force --discard-changes -C
        git stash drop,clear
        git branch                 | -D -M -f --force
        git tag                    | -d --delete -f --force
        git reflog expire,delete
        git gc                     | --prune*
        git worktree,submodule remove,deinit | -f --force
        git update-ref             | -d --stdin
        git prune,filter-branch,filter-repo,checkout-index,read-tree,replace
        hg,jj strip,abandon
        hg purge,clean
        hg update,revert           | -C --clean --all
        svn revert,cleanup
        p4 revert
    """,
    "It rewrites or deletes what others have.": """
        git push                   | -f --force* -d --delete --mirror --prune +* :* | -n --dry-run
        hg push                    | -f --force
        jj git push                | --deleted --all
        gh,glab repo,release,issue,run,secret,variable,gist,label,cache,codespace,project,ssh-key,gpg-key delete*,remove
        gh,glab repo archive,rename,edit
        gh,glab pr,mr merge,close
        gh,glab api                | DELETE PUT PATCH -XDELETE -XPUT -XPATCH --method=DELETE
        curl,http,https,xh,wget    | DELETE -XDELETE --request=DELETE --method=DELETE
        svn delete,rm,remove
    """,
    "It publishes something.": """
        npm,pnpm,yarn,bun,lerna,changeset publish,unpublish,deprecate | | --dry-run
        npm,yarn dist-tag,owner,token add,rm,create,revoke
        yarn npm publish
        twine upload
        poetry,flit,hatch,uv,pdm,setuptools publish | | --dry-run
        cargo publish,yank,owner,login | | --dry-run -n
        gem push,yank,owner
        mvn,mvnw                   | deploy *:deploy
        gradle,gradlew             | publish* upload*
        dotnet nuget push,delete
        nuget,docker,podman,nerdctl,buildah,helm push
        docker,podman,nerdctl image,manifest push
        docker,podman buildx,build | --push
        skopeo copy,sync,delete
        oras push
        anaconda,snapcraft upload,release
        vsce,ovsx,jsr publish,unpublish
        deno,dart,flutter publish
        dart,flutter pub publish
        pod trunk push
        mix hex.publish
        goreleaser release,publish
        gh,glab release create,upload,edit
        git send-email
        vercel,netlify             | --prod deploy rm remove
        semantic-release,release-it,np
        nx release
        conan upload
        firebase,wrangler,serverless,sls,sam,eb,fly,flyctl deploy,publish,destroy,delete,remove,terminate
    """,
    "It deletes or changes what runs elsewhere.": """
        kubectl,oc delete,drain,replace,cordon | | --dry-run=client --dry-run=server
        kubectl,oc scale           | --replicas=0 0
        kubectl,oc rollout undo
        kubectl,oc apply           | --prune --force
        kubectl,oc config delete-*,unset
        helm uninstall,delete,rollback,del
        terraform,tofu,terragrunt destroy,force-unlock,taint
        terraform,tofu,terragrunt apply | -destroy -auto-approve --auto-approve --destroy
        terraform,tofu,terragrunt state,workspace rm,mv,push,replace-provider,delete
        terragrunt run-all destroy,apply
        pulumi destroy,cancel
        pulumi up,update           | -y --yes
        pulumi stack,state rm,delete
        cdk,cdktf destroy
        cdk,cdktf deploy           | --require-approval=never --auto-approve
        vagrant,multipass,lxc,incus,virsh,limactl destroy,delete,undefine,purge
        docker,podman,nerdctl rm,rmi,prune
        docker,podman,nerdctl system,image,volume,network,container,builder,buildx,context,pod rm,remove,prune,reset
        docker,podman secret,config,stack,service,node,machine rm,remove,reset
        docker,podman compose down | -v --volumes --rmi
        docker,podman compose rm
        docker-compose down        | -v --volumes --rmi
        docker-compose rm
        docker swarm leave
        aws s3                     | rm rb mv --delete
        aws * delete-*,terminate-*,remove-*,deregister-*,purge-*,stop-*
        gcloud,az,doctl,oci,ibmcloud,linode-cli,hcloud,scw | delete destroy purge remove rm deploy
        gsutil                     | rm rb
        gsutil rsync               | -d
        s3cmd                      | del rm rb --delete-removed
        mc rm,rb
        flux delete,uninstall
        argocd app,appset,cluster,proj,repo delete,rollback,rm
        jf,jfrog                   | del delete
        heroku                     | *:destroy *:reset *:delete destroy
        consul kv delete
        vault delete,destroy
        vault kv,secrets delete,destroy,disable
        etcdctl                    | del
    """,
    "It deletes data of a database.": """
        dropdb,dropuser
        psql,mysql,mariadb,sqlite,sqlite3,sqlcmd,duckdb,clickhouse-client | *drop?[tdsvi]* *truncate?* *delete?from*
        mysqladmin                 | drop
        redis-cli                  | flush*
        mongosh,mongo              | *drop* *delete* *remove*
        rails,rake                 | db:drop* db:reset* db:purge*
        manage.py,django-admin     | flush reset_db sqlflush
        prisma                     | reset --force-reset --accept-data-loss
    """,
    "It switches the machine off.": """
        shutdown,reboot,poweroff,halt,telinit
        systemctl                  | poweroff reboot halt suspend hibernate kexec
        init                       | 0 6
    """,
    "It changes who may use whole folders.": """
        chmod,chown,chgrp,setfacl,chattr,chcon | -R --recursive
        chmod                      | [ugoa+]*s 4??? 2??? 6???
    """,
    "It changes this machine, or what its programs may do.": """
        useradd,userdel,usermod,groupadd,groupdel,passwd,chpasswd,adduser,deluser,gpasswd
        iptables,ip6tables,nft,ufw,firewall-cmd,setenforce
        umount,insmod,rmmod,modprobe,kexec,losetup,swapoff
        mount                      | -o --bind --rbind /dev/*
        sysctl                     | -w --write -p --load
        systemctl,launchctl stop,disable,mask,kill,enable,start,restart,edit,load,unload,bootstrap
        service                    | stop start restart
    """,
    "It starts programs by itself, later.": """
        crontab,at,batch,systemd-run
    """,
    "It gives a container this machine.": """
        docker,podman,nerdctl run,create,exec | --privileged --pid=host --volume=/:* /:* --mount=*src=/,*
    """,
    "It runs code that it makes up.": """
        python,pypy                | exec(* *[!.a-z0-9_]exec(*
    """,
    "It runs a command that stands in its options.": """
        tar,gtar,bsdtar            | --to-command* --checkpoint-action* --info-script*
        ssh,scp,sftp               | *proxycommand* *localcommand* *knownhostscommand*
        awk,gawk,mawk,nawk         | *system(*
        perl,ruby,python,php,lua   | *system(* *popen(* *exec(?rm*
        node,nodejs,deno,bun       | *execsync(* *spawn(* *exec(*
        parallel :::*
        vi,vim,nvim,view,ex,ed,red | !* *:!* +!* *system(*
        sed,gsed                   | s/*/*/e s/*/*/ge s/*/*/eg [0-9$]e[!a-z0-9._-]* e[!a-z0-9._-]*
    """,
    "It changes what other programs run.": """
        git config                 | alias.* *.sshcommand *.hookspath *.fsmonitor *.editor *.pager | --get -l --list
        git config                 | *.helper *.program *.textconv *.external *.process *.clean | --get -l --list
        git clone,fetch,pull,push,ls-remote,submodule | ext::* --upload-pack* --receive-pack* --exec*
        hash,enable                | -p -f
        git -c alias.*=*,*.sshcommand=*,*.hookspath=*,*.fsmonitor=*,*.editor=*,*.helper=*,*.program=*,*.external=*
        git --exec-path=*,--config-env*
        npm,pnpm,yarn config set   | script-shell* shell* *registry*
        update-alternatives
    """,
}

# Variables by which a program is made to run another one.
STARTING = re.compile(
    r"(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND|BASH_FUNC_\w*|PERL5OPT|RUBYOPT|"
    r"GIT_SSH|GIT_SSH_COMMAND|GIT_ASKPASS|GIT_EXTERNAL_DIFF|GIT_CONFIG_COUNT|GIT_EXEC_PATH)"
)

_SHELLS = "sh,bash,rbash,dash,ash,zsh,fish,ksh,mksh,csh,tcsh,yash"
SHELLS = frozenset(_SHELLS.split(","))
INTERPRETERS = frozenset({"python", "pypy", "perl", "ruby", "node", "nodejs", "php", "lua", "deno", "bun"})
FETCHING = frozenset({"curl", "wget", "fetch", "aria2c", "http", "https", "xh"})
# Behind these options a value stands, and not yet the command; behind long ones too.
VALUED = frozenset(f"-{letter}" for letter in "nuPILdaEsoecpkCfwrRHlv")
# They write to each file that they name, or to the last one.
WRITING_ALL, WRITING_LAST = frozenset({"tee", "sponge"}), frozenset({"cp", "mv", "install"})


class Runner(msgspec.Struct, frozen=True):
    """A program that runs the words it is given."""

    # The program and its subcommands, as in a family.
    head: str
    # How many plain words stand in front of the command: a time, a host.
    skip: int = 0
    # Options behind which the command stands; else it stands behind those.
    after: str = ""
    # Whether a shell reads it.
    text: bool = False
    # Whether it gets words that the line does not show: what was found, what is read.
    fills: bool = False


RUNNERS = (
    Runner("env,nice,ionice,nohup,setsid,stdbuf,unbuffer,command,builtin,exec,busybox,toybox,time,strace,ltrace,chrt"),
    Runner("nocorrect,noglob,fakeroot,eatmydata,proot,firejail,bwrap,xvfb-run,dotenv,rlwrap,caffeinate,setarch"),
    Runner("npx,pnpx,bunx,uvx,hyperfine,valgrind,perf,gdb,rr,prlimit,systemd-inhibit,dbus-run-session,winpty"),
    Runner("timeout,taskset,flock,chroot,gosu,su-exec,numactl,faketime,direnv,cgexec,nsenter,unshare,capsh", skip=1),
    Runner("uv,poetry,pdm,hatch,pipenv,rye,conda,mamba,micromamba,mise,asdf,coverage,dotnet run,exec,shell"),
    Runner("uv tool run"),
    Runner("pipx run"),
    Runner("npm,pnpm,yarn,bun,bundle,cargo,rustup,corepack,volta exec,dlx,x,run"),
    Runner("docker,podman,nerdctl run,exec", skip=1),
    Runner("docker,podman compose run,exec", skip=1),
    Runner("docker-compose run,exec", skip=1),
    Runner("kubectl,oc,lxc,incus,multipass exec,run", skip=1),
    Runner("nix develop,shell,run", after="-c --command"),
    Runner("nix-shell", after="--run --command", text=True),
    Runner("python,python3,pypy,pypy3,py -m"),
    Runner("xargs,parallel,rush", fills=True),
    Runner("find", after="-exec -execdir -ok -okdir", fills=True),
    Runner("fd,fdfind", after="-x -X --exec --exec-batch", fills=True),
    Runner("git bisect run"),
    Runner("git submodule foreach", text=True),
    Runner("git rebase", after="-x --exec", text=True),
    Runner(f"{_SHELLS},script", after="-c --command", text=True),
    Runner("flock", after="-c --command", text=True),
    Runner("env", after="-S --split-string", text=True),
    Runner("rsync", after="-e --rsh --rsync-path", text=True),
    Runner("scp,sftp", after="-S", text=True),
    Runner("man", after="-P --pager", text=True),
    Runner("zip", after="-TT --unzip-command", text=True),
    Runner("git grep", after="-O --open-files-in-pager", text=True),
    Runner("git difftool", after="-x --extcmd", text=True),
    Runner("ansible,salt,pdsh,clush", after="-a --args", text=True),
    Runner("mapfile,readarray,compgen,complete", after="-C", text=True),
    Runner("eval,trap,watch,entr", text=True),
    Runner("ssh,mosh", skip=1, text=True),
    Runner("tmux,screen new,new-session,new-window,send-keys,split-window", text=True),
)


class Sign(msgspec.Struct, frozen=True):
    """One line of a family."""

    head: tuple[re.Pattern[str], ...]
    words: Words | None
    unless: frozenset[str]
    why: str


class Words:
    """Words of which one is enough."""

    # Whether an option is among them, which a word could become.
    has_short: bool

    def __init__(self, text: str) -> None:
        given = text.split()
        self._short = frozenset(word[1] for word in given if re.fullmatch(r"-\w", word))
        self._long = tuple(word for word in given if word.startswith("--") and len(word) > 2)
        plain = [word for word in given if not re.fullmatch(r"-\w|--.+|EVERYTHING", word)]
        self._plain = re.compile("|".join(map(fnmatch.translate, plain)) or "(?!)", re.IGNORECASE)
        self._whole = "EVERYTHING" in given
        self.has_short = bool(self._short)

    def has(self, word: str) -> bool:
        """Return whether a word is one of them."""
        if word.startswith("--") and len(word) > 2:
            if any(_is_long(word, each) for each in self._long):
                return True
        elif word.startswith("-") and self._short.intersection(word[1:].partition("=")[0]):
            return True
        return (self._whole and word.rstrip("/") in _EVERYTHING) or self._plain.match(word) is not None


_EVERYTHING = frozenset(
    {"", "..", HOME, FILES, *(f"{folder}{FILES}" for folder in ("./", ".", "/", f"{HOME}/", "../"))}
)


def _is_long(word: str, wanted: str) -> bool:
    if "=" in wanted:
        return fnmatch.fnmatchcase(word, wanted)
    return fnmatch.fnmatchcase(word, wanted) or wanted.startswith(word.partition("=")[0])


def could_be_option(word: str) -> bool:
    """Return whether the shell could make an option, or several words, of a word."""
    return word.startswith(ANY) or (word.startswith("-") and MARKS.search(word) is not None)


@cache
def heads(text: str) -> tuple[re.Pattern[str], ...]:
    """Return what the words of a head have to match."""
    return tuple(re.compile("|".join(map(fnmatch.translate, part.split(","))), re.IGNORECASE) for part in text.split())


@cache
def signs() -> dict[str, tuple[Sign, ...]]:
    """Return the lines of all families by their programs."""
    found: dict[str, list[Sign]] = {}
    for why, lines in FAMILIES.items():
        for line in filter(None, map(str.strip, lines.splitlines())):
            head, words, unless = (part.strip() for part in (*line.split("|", 2), "", "")[:3])
            programs, _, rest = head.partition(" ")
            sign = Sign(heads(rest), Words(words) if words else None, frozenset(unless.split()), why)
            for program in programs.split(","):
                found.setdefault(program, []).append(sign)
    return {program: tuple(lines) for program, lines in found.items()}


@cache
def runners() -> dict[str, tuple[Runner, ...]]:
    """Return those that run their words by their names."""
    found: dict[str, list[Runner]] = {}
    for runner in RUNNERS:
        for program in runner.head.partition(" ")[0].split(","):
            found.setdefault(program, []).append(runner)
    return {program: tuple(each) for program, each in found.items()}
