package main

import (
	"os/exec"
	"syscall"
)

// tie has the process end with this one, also when this one is killed.
func tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
