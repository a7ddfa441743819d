package pg

import (
	"io"
	"os/exec"
)

// Script has psql, a prepared command that stops at the first error, run what source writes as one transaction. It commits
// only when source has written everything: cut off anywhere, nothing has changed. written is source's error, ended that of
// psql.
func Script(psql *exec.Cmd, source func(io.Writer) error) (written, ended error) {
	in, err := psql.StdinPipe()
	if err != nil {
		return err, nil
	}
	if err := psql.Start(); err != nil {
		return nil, err
	}
	_, written = io.WriteString(in, "begin;\n")
	if written == nil {
		written = source(in)
	}
	if written == nil {
		_, written = io.WriteString(in, "\ncommit;\n")
	}
	// Without the commit, the end of the input rolls back.
	closed := in.Close()
	if ended = psql.Wait(); ended == nil {
		ended = closed
	}
	return written, ended
}
