package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The ports of EdgeX are among those that Linux gives to outgoing connections, so one of them may be taken at a start although
// no program listens there. Such a connection often ends soon.
const (
	portWait  = 5 * time.Second        // how long a start waits for it
	portLooks = 100 * time.Millisecond // the system does not tell when a port is free
)

// whenFree calls listen until it can, as long as the port has no listener and portWait has not passed.
func whenFree(ctx context.Context, logger *slog.Logger, port int, listen func() error) error {
	deadline := time.Now().Add(portWait)
	for tries := 0; ; tries++ {
		err := listen()
		if !errors.Is(err, syscall.EADDRINUSE) || hasListener(port) {
			return err
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("%w; no program listens there, an outgoing connection has the port%s", err, reserving(port))
		}
		if tries == 0 {
			logger.Warn("a port is taken by an outgoing connection, and tried again for some seconds"+reserving(port), "port", port, "for", portWait, "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(portLooks):
		}
	}
}

// tcpListen is the state of a socket that listens, in /proc/net/tcp.
const tcpListen = "0A"

// hasListener reports whether any socket of this machine listens on a port. Where the system does not say, none does.
func hasListener(port int) bool {
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table) // there is none but on Linux
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[1], suffix) && f[3] == tcpListen {
				return true
			}
		}
	}
	return false
}

// reserving says how to keep outgoing connections away from a port, where Linux gives it to them.
func reserving(port int) string {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	bounds := strings.Fields(string(text))
	if err != nil || len(bounds) != 2 {
		return ""
	}
	low, _ := strconv.Atoi(bounds[0])
	high, _ := strconv.Atoi(bounds[1])
	if port < low || port > high {
		return ""
	}
	return fmt.Sprintf("; Linux gives such connections the ports from %d to %d: reserve this one with sysctl net.ipv4.ip_local_reserved_ports=%d", low, high, port)
}
