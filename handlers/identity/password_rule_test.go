package identity

import (
	"strings"
	"testing"

	"ledge/domain"
)

// TestPasswordRule holds which passwords can be new ones.
func TestPasswordRule(t *testing.T) {
	if n := len(common()); n != 1000 {
		t.Errorf("the list has %d passwords", n)
	}
	for password, says := range map[string]string{
		"":                              "is empty",
		"          ":                    "has only white space",
		"\t \u00a0\u3000\n\r \t \u2003": "has only white space",
		"nine-char":                     "has 9 characters; use at least 10",
		"ähnlich-10":                    "",
		"correct horse battery":         "",
		"1234567890":                    "is too easy to guess",
		"QWERTYuiop":                    "is too easy to guess",
		strings.Repeat("x", 1025):       "has 1025 bytes; use at most 1024",
		strings.Repeat("x", 1024):       "",
	} {
		err := CheckPassword(password)
		if says == "" && err != nil || says != "" && (domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), says)) {
			t.Errorf("%.20q: %v, want %q", password, err, says)
		}
	}
}
