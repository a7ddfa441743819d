package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the system user PostgreSQL runs as.
type account struct {
	name     string
	uid, gid uint32
	// credential is nil when that is the user we are.
	credential *syscall.Credential
}

// databaseAccount is ourselves, or the user postgres when we are root: PostgreSQL refuses to run as root.
func databaseAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return account{}, errors.New("PostgreSQL does not run as root and this machine has no user named postgres: " +
			"create one (useradd --system postgres), or run Gatehouse as a plain user")
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("the user postgres has the id %q, which is not a number", u.Uid)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("the user postgres has the group %q, which is not a number", u.Gid)
	}
	a := account{name: u.Username, uid: uint32(uid), gid: uint32(gid)}
	a.credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	return a, nil
}

func (a account) switched() bool { return a.credential != nil }

// own gives path to the account; nothing to do when that is ourselves.
func (a account) own(path string) error {
	if !a.switched() {
		return nil
	}
	if err := os.Chown(path, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("give %s to the user %s: %w", path, a.name, err)
	}
	return nil
}

// canReach reports, as an error naming the closed directory, when the account may not pass through to dir. What does not
// exist yet is no obstacle.
func (a account) canReach(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return unwritable(dir, err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && !a.mayEnter(st.Uid, st.Gid, info.Mode()) {
			return fmt.Errorf("the data directory %s cannot be reached by the user %s, as which PostgreSQL runs, because %s "+
				"is closed to it: set GATEHOUSE_DATA_DIR to another place (such as /var/lib/gatehouse), or open it (chmod o+x %s)",
				dir, a.name, at, at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func (a account) mayEnter(uid, gid uint32, mode os.FileMode) bool {
	switch {
	case uid == a.uid:
		return mode&0o100 != 0
	case gid == a.gid:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}

// run prepares cmd to run as the account, in its own process group, with an environment in which no PG* variable of
// the person's shell redirects it and in which messages are in English, because some are read here.
func (a account) run(cmd *exec.Cmd, dir string) {
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: a.credential}
}
