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
	_, nats, _ := strings.Cut(p.bus.URL(), "://")
	actual := map[string]string{"nats-host": nats} // Linux listens on [::] for 0.0.0.0
	for _, one := range services.All {
		actual[one.Setting+"-host"] = p.servers.address(one.Name)
	}
	var open []any
	for _, s := range p.Config.BindSettings() {
		if !p.addresses[s[0]].Unmap().IsLoopback() {
			open = append(open, slog.String(s[0], actual[s[0]]))
		}
	}
	if len(open) > 0 {
		p.Logger.Warn("addresses without a login can be reached from other machines, because allow-insecure is set", open...)
	}
}
