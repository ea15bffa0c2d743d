package identity

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"ledge/domain"
)

// JWT says which JWTs are accepted. Issuer and Audience are required.
type JWT struct {
	Issuer    string       // URL: the claim iss, and where OpenID Connect discovery finds the keys
	Audience  string       // the claim aud has it
	RoleClaim string       // names the role: a string or a list. Dots lead into objects. Empty: role
	Client    *http.Client // fetches the keys; nil: [http.DefaultClient]
}

// The bounds of a JWT.
const (
	clockSkew   = time.Minute
	mostSubject = 256 // bytes
	mostDevices = 64  // patterns of the claim devices, of 256 bytes each
)

// algorithms are those with a public key. One with a shared key would let everybody who can check a JWT make one.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// issuer checks the JWTs of an external issuer.
type issuer struct {
	JWT
	now  func() time.Time
	keys *keys
}

func newIssuer(o JWT, now func() time.Time, logger *slog.Logger) *issuer {
	if o.RoleClaim == "" {
		o.RoleClaim = "role"
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	return &issuer{o, now, newKeys(o, logger)}
}

// identity returns who a JWT speaks of, or the reason of the refusal.
func (i *issuer) identity(token string) (id domain.Identity, reason string, err error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return id, badJWT, errJWT("it is malformed, or signed with an algorithm that Ledge does not accept; use RS256, ES256 or EdDSA")
	}
	header := parsed.Headers[0]
	key, err := i.keys.find(header.KeyID, header.Algorithm)
	if err != nil {
		if domain.CodeOf(err) == domain.Unavailable {
			return id, busy, err
		}
		return id, badJWT, err
	}
	var claims jwt.Claims
	var all map[string]any
	if parsed.Claims(key.Key, &claims, &all) != nil {
		return id, badJWT, errJWT("its signature or its claims are wrong")
	}
	if reason, err := i.check(claims); err != nil {
		return id, reason, err
	}
	id.Actor, id.Until = "jwt:"+claims.Subject, claims.Expiry.Time().Add(clockSkew).UnixMilli()
	if id.Role, err = i.role(all); err != nil {
		return id, noRole, err
	}
	if id.Devices, err = devices(all); err != nil {
		return id, noRole, err
	}
	if len(id.Devices) > 0 && id.Role != domain.Poster { // a token of that kind cannot be made either
		return id, noRole, domain.Errorf(domain.Forbidden, "the JWT has the claim devices and the role %s, and only the role %s is restricted to devices; have the issuer leave the claim out or give that role", id.Role, domain.Poster)
	}
	return id, "", nil
}

func errJWT(what string, args ...any) *domain.Error {
	return domain.Errorf(domain.Unauthenticated, "the JWT is refused: "+what, args...)
}

// check holds that a JWT is for Ledge, and for now. Its signature is right.
func (i *issuer) check(c jwt.Claims) (reason string, err error) {
	err = c.ValidateWithLeeway(jwt.Expected{Issuer: i.Issuer, AnyAudience: jwt.Audience{i.Audience}, Time: i.now()}, clockSkew)
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return expired, domain.ErrExpired
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return badJWT, errJWT("it is not valid yet; check the clocks of this machine and of the issuer")
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return badJWT, errJWT("the claim iss is %.200q and has to be %q", c.Issuer, i.Issuer)
	case errors.Is(err, jwt.ErrInvalidAudience):
		return badJWT, errJWT("the claim aud does not have %q; ask the issuer for a token for it", i.Audience)
	case err != nil:
		return badJWT, errJWT("%v", err)
	case c.Expiry == nil:
		return badJWT, errJWT("the claim exp is missing")
	case c.Subject == "" || len(c.Subject) > mostSubject || strings.ContainsFunc(c.Subject, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }):
		return badJWT, errJWT("the claim sub has to be a text of 1 to %d printable bytes", mostSubject)
	}
	return "", nil
}

// role returns the first role that Ledge knows.
func (i *issuer) role(claims map[string]any) (domain.Role, error) {
	names, ok := texts(claim(claims, i.RoleClaim))
	if !ok || len(names) == 0 {
		return "", domain.Errorf(domain.Forbidden, "the JWT has no role: the claim %q is missing, or is neither a string nor a list of strings; have the issuer set it to one of %v", i.RoleClaim, domain.Roles())
	}
	for _, name := range names {
		if slices.Contains(domain.Roles(), domain.Role(name)) {
			return domain.Role(name), nil
		}
	}
	return "", domain.Errorf(domain.Forbidden, "the JWT has no role that Ledge knows: the claim %q is %.200q; have the issuer set it to one of %v", i.RoleClaim, fmt.Sprint(names), domain.Roles())
}

// devices returns the patterns of the claim devices. A claim that says nothing of use gives no access: without patterns,
// an identity may post to every device.
func devices(claims map[string]any) ([]string, error) {
	value, ok := claims["devices"]
	if !ok {
		return nil, nil
	}
	patterns, ok := texts(value)
	if !ok || len(patterns) == 0 || len(patterns) > mostDevices || slices.ContainsFunc(patterns, func(p string) bool { return p == "" || len(p) > 256 }) {
		return nil, domain.Errorf(domain.Forbidden, "the claim devices of the JWT has to be a pattern of device names, such as cam-*, or a list of 1 to %d", mostDevices)
	}
	return patterns, nil
}

// claim returns the claim with a name, or the one at a path of names with dots between them.
func claim(claims map[string]any, name string) any {
	if value, ok := claims[name]; ok {
		return value
	}
	first, rest, ok := strings.Cut(name, ".")
	inner, isObject := claims[first].(map[string]any)
	if !ok || !isObject {
		return nil
	}
	return claim(inner, rest)
}

// texts returns the strings of a claim that is a string or a list of them.
func texts(value any) ([]string, bool) {
	if s, ok := value.(string); ok {
		return []string{s}, true
	}
	list, ok := value.([]any)
	var all []string
	for _, v := range list {
		s, isText := v.(string)
		if !isText {
			return nil, false
		}
		all = append(all, s)
	}
	return all, ok
}
