package access

import (
	"strings"

	"ledge/domain"
)

// forbiddenDevice is a refusal for the pattern of devices and not for the role.
type forbiddenDevice struct{ error }

func (f forbiddenDevice) Unwrap() error { return f.error }

// ForbidDevice is the error for an identity that posts to a device which its patterns do not match.
func ForbidDevice(id domain.Identity, device string) error {
	return forbiddenDevice{domain.Errorf(domain.Forbidden, "%s may not post to the device %.80q, only to devices that match %s; post with another token, or have an administrator change the patterns",
		id.Actor, device, strings.Join(id.Devices, ", "))}
}

// Forbid is the error for an identity that has no role with the right of a route.
func Forbid(id domain.Identity, route string, right domain.Right) error {
	who, roles := "has no role", domain.RolesThatMay(right)
	if id.Role != "" {
		who = "is " + withArticle(string(id.Role))
	}
	if roles == "" {
		return domain.Errorf(domain.Forbidden, "%s %s; no role may use %s", id.Actor, who, route)
	}
	return domain.Errorf(domain.Forbidden, "%s %s; %s needs the role %s", id.Actor, who, route, roles)
}

func withArticle(role string) string {
	if strings.ContainsRune("aeiou", rune(role[0])) {
		return "an " + role
	}
	return "a " + role
}
