package domain

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// SecretUse is one use of a secret: to log in on a kind of channel, at one host and port.
type SecretUse struct {
	// Channel is the type of a kind of channel that uses secrets.
	Channel string `json:"channel"`
	Host    string `json:"host"`
	Port    int    `json:"port"`
	// AllowInsecure allows the use without TLS, and with a server whose certificate is not verified.
	AllowInsecure bool `json:"allowInsecure,omitempty"`
}

// MaxSecretUses bounds the uses of one secret.
const MaxSecretUses = 64

// Check notes what is wrong. It shows no value: what stands in the wrong place may be a secret.
func (u SecretUse) Check() Problems {
	var p Problems
	var types []string
	for _, k := range slices.Backward(channelKinds) {
		if k.UsesSecret {
			types = append(types, k.Type)
		}
	}
	if !slices.Contains(types, u.Channel) {
		p.Add("channel", "is missing or unknown; use %s", strings.Join(types, " or "))
	}
	if u.Host == "" || len(u.Host) > MaxName || strings.ContainsFunc(u.Host, func(r rune) bool { return r <= ' ' || r > '~' }) {
		p.Add("host", "is missing, longer than %d bytes or not all printable ASCII; give the name or address of the server", MaxName)
	}
	if u.Port < 1 || u.Port > 65535 {
		p.Add("port", "is not a TCP port; use 1 to 65535")
	}
	return p
}

// Covers reports whether who may use a secret as u says may use it as o says.
func (u SecretUse) Covers(o SecretUse) bool {
	return u.Channel == o.Channel && u.Port == o.Port && sameHost(u.Host) == sameHost(o.Host) && (u.AllowInsecure || !o.AllowInsecure)
}

// sameHost is a host as it is compared: letter case, brackets and a final dot of a name do not matter, nor how an address is written.
func sameHost(host string) string {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func (u SecretUse) String() string {
	host := strings.Trim(u.Host, "[]")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s at %s:%d", u.Channel, host, u.Port)
}
