package config

import (
	"net"
	"net/url"
	"strconv"

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
