//go:build !linux

package zeromq

import (
	"net"
	"time"
)

// setUserTimeout does nothing: write deadlines and keep-alives notice a dead peer, later.
func setUserTimeout(*net.TCPConn, time.Duration) {}
