package config

import (
	"net"
	"strings"

	"github.com/spf13/pflag"
)

// TakeFreePorts has each listener take a free port, unless a flag has set one. A listener that is off by default is off. source is the one
// that [Config.Load] has returned.
func TakeFreePorts(c *Config, source map[string]string) {
	c.declared.VisitAll(func(f *pflag.Flag) {
		if !strings.HasSuffix(f.Name, "-port") && f.Name != "edgex-bus" || source[f.Name] == "--"+f.Name {
			return
		}
		port := "0"
		if f.Name == "edgex-bus" {
			port = ""
		}
		if at, ok := f.Value.(*portAddress); ok && at.host != "" {
			port = net.JoinHostPort(at.host, port)
		}
		_ = c.declared.Set(f.Name, port) // as a flag: a reload finds the same
		source[f.Name] = "--no-delivery"
	})
}
