package server

import (
	"log/slog"
	"strings"

	"ledge/cmd/internal/services"
	"ledge/store"
)

// tapAddress returns the address of the tap, without the scheme.
func tapAddress(s *store.Store) string {
	_, address, _ := strings.Cut(s.Tap().URL(), "://")
	return address
}

// warnOfOpenAddresses logs one line with the addresses at which other machines can reach the program.
func warnOfOpenAddresses(p *Server) {
	if p.Config.Secure {
		return
	}
	actual := map[string]string{"tap-host": tapAddress(p.Node.Store)} // Linux listens on [::] for 0.0.0.0
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
