-- Normalises texts for search, like `foldText`: lower case, a final sigma as any sigma, a sharp s as ss. A dotless i stays a separate
-- letter.
CREATE OR REPLACE FUNCTION fold_text(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
  RETURN replace(replace(lower(p_text), 'ς', 'σ'), 'ß', 'ss');
