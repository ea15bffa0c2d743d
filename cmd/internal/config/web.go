package config

import (
	"log/slog"
	"os"
	"strings"

	"ledge/cmd/internal/services"
	"ledge/handlers/web"
)

func checkProxy(text string) error {
	_, err := web.ParseProxy(text)
	return err
}

// Proxies returns the networks of the reverse proxies whose X-Forwarded-For is believed.
func (c *Config) Proxies() (all web.Proxies) {
	for _, text := range c.TrustedProxies.List {
		if network, err := web.ParseProxy(text); err == nil { // the setting is checked
			all = append(all, network)
		}
	}
	return all
}

// edgexHosts returns the names of the services in EdgeX's compose files, and the name that a container has for its machine.
func edgexHosts() string {
	var hosts []string
	for _, one := range services.REST() {
		hosts = append(hosts, one.EdgeXHost())
	}
	return strings.Join(append(hosts, "host.docker.internal"), ",")
}

// SameOrigin returns the rules by which web pages may use the services.
func (c *Config) SameOrigin(logger *slog.Logger) web.SameOrigin {
	hosts := append([]string{"localhost"}, c.AllowHosts.List...)
	for _, one := range services.All {
		hosts = append(hosts, c.ListenAt(one).Host)
	}
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		hosts = append(hosts, name, short)
	}
	return web.SameOrigin{Hosts: hosts, TrustedOrigins: c.TrustedOrigins.List, Logger: logger}
}
