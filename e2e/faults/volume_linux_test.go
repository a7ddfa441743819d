package faults

import (
	"fmt"
	"syscall"
)

// mountSmall puts a file system in memory of that many MiB on dir.
func mountSmall(dir string, mib int) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0711", mib))
}

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
