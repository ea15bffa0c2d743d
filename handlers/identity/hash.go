// Package identity proves who a client is.
package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"github.com/alexedwards/argon2id"

	"ledge/domain"
)

// MaxPassword is the longest password, in bytes.
const MaxPassword = 1024

// parameters are those that OWASP gives for the least memory. Memory is in KiB.
var parameters = &argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// HashPassword returns the hash of a password as an argon2id PHC string.
func HashPassword(password string) (string, error) {
	if password == "" || len(password) > MaxPassword {
		return "", domain.Errorf(domain.Invalid, "password: has %d bytes; use at least 1 and at most %d", len(password), MaxPassword)
	}
	return argon2id.CreateHash(password, parameters)
}

// NewToken returns a new token of a name, and its hash.
func NewToken(name string) (token, hash string) {
	token = "ledge_" + name + "_" + rand.Text()
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}
