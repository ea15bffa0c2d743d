package config

import (
	"strings"
	"testing"
)

func TestEdgeXSettingsAreRefused(t *testing.T) {
	const form = ": use consul:// with the host and the port of Consul, such as consul://127.0.0.1:8500"
	for _, c := range []struct{ setting, value, says string }{
		{"registry", "consul.http://edgex-core-consul:8500", "consul.http://edgex-core-consul:8500" + form},
		{"registry", "localhost:8500", "localhost:8500" + form},
		{"registry", "consul://:8500", "consul://:8500" + form},
		{"registry", "consul://c:8500/v1", "consul://c:8500/v1" + form},
		{"registry", "consul://c:8500?a=b", "consul://c:8500?a=b" + form},
		{"registry", "consul://c:85000", "consul://c:85000" + form},
		{"registry", "consul://:t0ken@c:8500", "consul://:xxxxx@c:8500: a setting is not a place for a token"},
		{"edgex-version", "3", "3: use 2.3 or 4"},
		{"default-protocol", "a b", `a b: "a b" has the character ' '`},
	} {
		_, _, err := loadArgs(t, "--"+c.setting, c.value)
		if want := "setting " + c.setting + ": " + c.says; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", c.value, err, want)
		}
	}
}

func TestRegistryAddress(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "consul://c": "c:8500", "consul://c:1": "c:1", "consul://[::1]": "[::1]:8500", "consul://10.0.0.5:8500": "10.0.0.5:8500",
	} {
		c, _, err := loadArgs(t, "--registry", value)
		if err != nil {
			t.Errorf("%s: %v", value, err)
		} else if got := RegistryAddress(c.Registry); got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
}
