package server

import (
	"log/slog"
	"strings"

	"ledge/cmd/internal/services"
)

// warnOfOpenAddresses logs one line with the addresses at which other machines can reach the program.
func warnOfOpenAddresses(p *Server) {
	if p.Config.Secure {
		return
	}
	var open []any // Linux listens on [::] for 0.0.0.0
	for _, one := range services.All {
		if !p.addresses[p.Config.ListenAt(one).Setting].Unmap().IsLoopback() {
			open = append(open, slog.String(one.Name, p.servers.address(one.Name)))
		}
	}
	if p.Config.NATSPort >= 0 && !p.addresses["nats-host"].Unmap().IsLoopback() {
		_, nats, _ := strings.Cut(p.bus.URL(), "://")
		open = append(open, slog.String("nats", nats))
	}
	if len(open) > 0 {
		p.Logger.Warn("addresses without a login can be reached from other machines, because allow-insecure is set", open...)
	}
}
