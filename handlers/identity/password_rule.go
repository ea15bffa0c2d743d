package identity

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"

	"ledge/domain"
)

// LeastPassword is how many characters a new password must have, MaxPassword how many bytes a password may have.
const (
	LeastPassword = 10
	MaxPassword   = 1024
)

//go:embed common-passwords.txt
var commonPasswords string

// common are the passwords of the file, in lower case. Shorter ones are refused for their length.
var common = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(commonPasswords) {
		if !strings.HasPrefix(line, "#") {
			all[strings.TrimSuffix(line, "\n")] = true
		}
	}
	return all
})

// CheckPassword returns why a password cannot be a new one.
func CheckPassword(password string) error {
	switch n := utf8.RuneCountInString(password); {
	case password == "":
		return domain.FieldErrorf("password", "is empty; give one of at least %d characters", LeastPassword)
	case strings.TrimSpace(password) == "":
		return domain.FieldErrorf("password", "has only white space; choose another one, such as several words")
	case n < LeastPassword:
		return domain.FieldErrorf("password", "has %d characters; use at least %d", n, LeastPassword)
	case len(password) > MaxPassword:
		return domain.FieldErrorf("password", "has %d bytes; use at most %d", len(password), MaxPassword)
	case common()[strings.ToLower(password)]:
		return domain.FieldErrorf("password", "is too easy to guess; choose another one, such as several words")
	}
	return nil
}
