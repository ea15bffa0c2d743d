package identity

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"ledge/domain"
)

// LoginValid is how long the token of a login is valid.
const LoginValid = 12 * time.Hour

// loginPrefix begins the tokens of logins: ledge-login.NAME.EXPIRY.SIGNATURE. NAME and SIGNATURE are in base64url, EXPIRY is in
// seconds since the Unix epoch. The signature covers the id of the password too, so a new password makes the token void.
const loginPrefix = "ledge-login."

var base64url = base64.RawURLEncoding.Strict()

// Login returns a token for a user with a password, and when it expires.
func (a *Authenticator) Login(ctx context.Context, name, password, address string) (token string, until time.Time, err error) {
	u, err := a.user(ctx, name, password, clientOf(address))
	if err != nil {
		return "", time.Time{}, err
	}
	until = a.Now().Add(LoginValid).Truncate(time.Second)
	body := loginPrefix + base64url.EncodeToString([]byte(u.Name)) + "." + strconv.FormatInt(until.Unix(), 10)
	return body + "." + base64url.EncodeToString(a.sign(body, u.Credential)), until, nil
}

// sign returns the signature of what comes before it in the token. No body has a line feed.
func (a *Authenticator) sign(body, credential string) []byte {
	h := hmac.New(sha256.New, a.LoginKey)
	h.Write([]byte(body + "\n" + credential))
	return h.Sum(nil)
}

// loginToken takes the role of the user as it is now.
func (a *Authenticator) loginToken(token string) (id domain.Identity, name, reason string, err error) {
	wrong := domain.Errorf(domain.Unauthenticated, "the login is not valid any more; log in again")
	end := strings.LastIndexByte(token, '.')
	signature, err := base64url.DecodeString(token[end+1:])
	encoded, expiry, ok := strings.Cut(token[len(loginPrefix):max(end, len(loginPrefix))], ".")
	if err != nil || !ok {
		return id, "", badLogin, wrong
	}
	text, err := base64url.DecodeString(encoded)
	if name = string(text); err != nil {
		return id, "", badLogin, wrong
	}
	u, known := a.Directory.User(name)
	genuine := hmac.Equal(signature, a.sign(token[:end], u.Credential))
	if !known || u.Credential == "" || !genuine {
		return id, name, badLogin, wrong
	}
	until, err := strconv.ParseInt(expiry, 10, 64)
	if err != nil {
		return id, name, badLogin, wrong
	}
	if a.Now().Unix() >= until {
		return id, name, expired, domain.Errorf(domain.Unauthenticated, "the login has expired; log in again")
	}
	id = u.Identity()
	id.Until = until * 1000
	return id, name, "", nil
}
