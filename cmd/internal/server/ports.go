package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
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

// whenFree calls listen until it can, as long as no program answers at the address and portWait has not passed.
func whenFree(ctx context.Context, logger *slog.Logger, host string, port int, listen func() error) error {
	deadline := time.Now().Add(portWait)
	for tries := 0; ; tries++ {
		err := listen()
		if !errors.Is(err, syscall.EADDRINUSE) || isListening(ctx, host, port) {
			return err
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("%w; if no program listens there, an outgoing connection has the port%s", err, reserving(port))
		}
		if tries == 0 {
			logger.Warn("a port is taken, most likely by an outgoing connection, and tried again for some seconds"+reserving(port), "port", port, "for", portWait, "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(portLooks):
		}
	}
}

// isListening reports whether a program accepts connections at an address. One that listens at another address of the machine only is not
// found: then a start fails later, not at once.
func isListening(ctx context.Context, host string, port int) bool {
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "" // this machine
	}
	dialer := net.Dialer{Timeout: portLooks}
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	defer c.Close()
	return c.LocalAddr().String() != c.RemoteAddr().String() // a connection to itself, which TCP allows
}

// reserving says how to keep outgoing connections away from a port, if Linux gives it to them.
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
