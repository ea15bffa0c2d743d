# Posts the value 42 with the library requests, and prints what comes back. Arguments: the URL, the file of the CA, the token.
import sys

import requests

url, ca, token = sys.argv[1:]
session = requests.Session()
session.trust_env = False  # no proxy of the environment
session.verify = ca
session.headers["Authorization"] = "Bearer " + token
try:
    answer = session.post(url, data="42", headers={"Content-Type": "text/plain"})
except requests.exceptions.SSLError as e:
    sys.exit(str(e))
print(answer.status_code, answer.text)
