package config

import (
	"errors"
	"net"
	"strconv"

	"ledge/cmd/internal/services"
)

// portAddress is the setting of the port of a service: a TCP port at the setting host, or a port with a host of its own, such as
// 127.0.0.1:9090. It is a pflag.Value.
type portAddress struct {
	host string // empty for the setting host
	port int
}

// String implements pflag.Value.
func (a *portAddress) String() string {
	port := strconv.Itoa(a.port)
	if a.host == "" {
		return port
	}
	return net.JoinHostPort(a.host, port)
}

// Set implements pflag.Value.
func (a *portAddress) Set(text string) error {
	host, port := "", text
	if _, err := strconv.Atoi(text); err != nil {
		if host, port, err = net.SplitHostPort(text); err != nil || host == "" {
			return errors.New("is not a TCP port; use a number from 0 to 65535, or add an address, such as 127.0.0.1:9090 or [::1]:9090")
		}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return errors.New("use a TCP port from 0 to 65535")
	}
	a.host, a.port = host, int(n)
	return nil
}

// Type implements pflag.Value.
func (a *portAddress) Type() string { return "port" }

// Address is a host of the settings that the program listens on.
type Address struct {
	Setting string // that has the host: host, nats-host, or the setting of a service's port
	Value   string // of the setting
	Host    string
	Port    int // of the service; 0 in a list of settings
}

// ListenAt returns the address of a service.
func (c *Config) ListenAt(one services.Service) Address {
	at := c.listen[one.Name]
	if at.host == "" {
		return Address{Setting: "host", Value: c.Host, Host: c.Host, Port: at.port}
	}
	return Address{Setting: one.PortSetting(), Value: at.String(), Host: at.host, Port: at.port}
}

// BindSettings returns the settings that have the hosts of the services and of NATS clients, each once.
func (c *Config) BindSettings() (list []Address) {
	seen := map[string]bool{}
	for _, one := range services.All {
		at := c.ListenAt(one)
		at.Port = 0
		if !seen[at.Setting] {
			seen[at.Setting] = true
			list = append(list, at)
		}
	}
	if c.NATSPort >= 0 {
		list = append(list, Address{Setting: "nats-host", Value: c.NATSHost, Host: c.NATSHost})
	}
	return list
}
