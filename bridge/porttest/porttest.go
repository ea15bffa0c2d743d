// Package porttest gives tests ports of their own.
package porttest

import (
	"fmt"
	"syscall"
	"testing"
)

// Hold returns a TCP port on which nobody listens, on no address of the machine, and which the system gives to nobody else until the
// test ends. Who names it may listen on it, as often as it likes, one after the other.
func Hold(tb testing.TB) int {
	tb.Helper()
	port, err := hold(tb)
	if err != nil {
		tb.Fatalf("hold a port: %v", err)
	}
	return port
}

// hold binds a socket that does not listen, with the option with which listeners are bound too: then they may share the
// address, while the system takes it for used where it chooses one itself.
func hold(tb testing.TB) (port int, err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	syscall.CloseOnExec(socket)
	tb.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, fmt.Errorf("share it: %w", err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{}); err != nil {
		return 0, fmt.Errorf("bind: %w", err)
	}
	at, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, fmt.Errorf("name: %w", err)
	}
	return at.(*syscall.SockaddrInet4).Port, nil
}
