package config

import (
	"net"
	"net/url"
	"strconv"

	"github.com/spf13/pflag"

	"ledge/domain"
)

// The values of the setting edgex-version. On the bus 3.1 and 4.0 have the same topics, headers and payloads.
const (
	EdgeX2 = "2.3"
	EdgeX4 = "4"
)

// consulPort is the port of Consul's HTTP API, unless the setting has another one.
const consulPort = "8500"

// RegistryAddress returns the host and the port of Consul's HTTP API of a value of the setting registry; "" if that is empty.
func RegistryAddress(registry string) string {
	at, err := url.Parse(registry)
	if err != nil || registry == "" {
		return "" // registryCure has refused it
	}
	port := at.Port()
	if port == "" {
		port = consulPort
	}
	return net.JoinHostPort(at.Hostname(), port)
}

// registryCure returns how to cure the setting registry, or "" if it is fine.
func registryCure(text string) string {
	const cure = "use consul:// with the host and the port of Consul, such as consul://127.0.0.1:8500"
	if text == "" {
		return ""
	}
	at, err := url.Parse(text)
	if err != nil {
		return cure
	}
	if at.User != nil {
		return "a setting is not a place for a token: put it into the file ledge-registry-token of $CREDENTIALS_DIRECTORY"
	}
	if port, err := strconv.ParseUint(at.Port(), 10, 16); at.Port() != "" && (err != nil || port == 0) {
		return cure
	}
	if *at != (url.URL{Scheme: "consul", Host: at.Host}) || at.Hostname() == "" {
		return cure
	}
	return ""
}

// protocolCure returns the fault of a protocolName, or "" if it is fine.
func protocolCure(name string) string {
	for _, p := range (domain.Device{ProtocolName: name}).Check() {
		if p.Path() == "protocolName" {
			return p.Says()
		}
	}
	return ""
}

// addMessagePort declares the port of a message bus that EdgeX has beside NATS; -1 turns it off.
func addMessagePort(c *Config, f *pflag.FlagSet, p *int, name, about string) {
	f.IntVar(p, name, -1, "TCP port at nats-host for EdgeX services on "+about+"; 0 takes a free one, -1 turns it off")
	c.mustBe(name, func() string {
		switch {
		case *p < -1 || *p > 65535:
			return "use a TCP port from 0 to 65535, or -1"
		case *p >= 0 && c.NATSPort < 0:
			return "its messages go to the NATS server: set nats-port too"
		}
		return ""
	})
}
