/** Nothing from elsewhere, nothing inline, and not in a frame. */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'font-src': "'self'",
  'manifest-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

const headersWith = (policy: Record<string, string>): Record<string, string> => ({
  'content-security-policy': Object.entries(policy)
    .map((directive) => directive.join(' '))
    .join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
});

/** For the shop's page. */
export const PAGE_HEADERS = headersWith(POLICY);

/** For the page at `/docs`: Swagger UI has styles in its HTML. */
export const DOCS_HEADERS = headersWith({ ...POLICY, 'style-src': "'self' 'unsafe-inline'" });
