package identity

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/alexedwards/argon2id"

	"ledge/domain"
)

// Directory has the users and tokens of the folded state.
type Directory interface {
	User(name string) (domain.User, bool)
	Token(name string) (domain.Token, bool)
}

// Credentials has the hashes of passwords and tokens, by the ids that users and tokens name.
type Credentials interface {
	Credential(id string) (hash string, ok bool)
	PutCredential(id, hash string) error
}

// Options are what an Authenticator needs. Directory, Credentials and LoginKey are required.
type Options struct {
	Directory   Directory
	Credentials Credentials
	LoginKey    []byte           // signs the tokens of logins; 32 random bytes
	JWT         *JWT             // nil: no JWT is accepted
	Now         func() time.Time // nil: [time.Now]
	Logger      *slog.Logger     // nil: [slog.Default]
	// Used is told the name of each token that proved an identity. It must return at once. It may be nil.
	Used func(token string, at time.Time)
}

// Authenticator proves identities. Its methods can be called from several goroutines.
type Authenticator struct {
	Options
	turns     *turns
	params    *argon2id.Params
	decoy     string    // the hash that is computed for unknown names
	passwords *slowdown // of clients that fail to log in
	tokens    *slowdown // of clients that send wrong tokens
	issuer    *issuer
	refusals  *refusals
}

// New returns an Authenticator. With Options.JWT, the caller also starts [Authenticator.Run].
func New(o Options) *Authenticator {
	return newAuthenticator(o, computing, parameters)
}

func newAuthenticator(o Options, turns *turns, params *argon2id.Params) *Authenticator {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if len(o.LoginKey) < 16 {
		panic("identity: LoginKey is shorter than 16 bytes") // with an empty one anybody could sign
	}
	a := &Authenticator{Options: o, turns: turns, params: params, passwords: newSlowdown(), tokens: newSlowdown(), refusals: newRefusals()}
	a.decoy = decoy(params)
	if o.JWT != nil {
		a.issuer = newIssuer(*o.JWT, o.Now, o.Logger)
	}
	return a
}

// clientOf returns the client at an address, which is host:port or an IP address.
func clientOf(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil {
		return domain.ClientOf(netip.AddrPortFrom(ip, 1).String())
	}
	return domain.ClientOf(address)
}
